//! `flotilla-oracle record|compare`: talks to a server that is already running.

#![expect(clippy::print_stdout, reason = "a command prints its result")]

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context, Result, bail};
use flotilla_oracle::{Answer, Story, corpus, replay};
use kube::{Client, Config};

const USAGE: &str = "\
usage: flotilla-oracle record|compare KUBECONFIG [STORY]…

  record   sends the stories of oracle/corpus to the server and writes oracle/recorded
  compare  sends them and prints where the answers differ from oracle/recorded
";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [verb, kubeconfig, only @ ..] = arguments.as_slice() else {
        bail!("{USAGE}");
    };
    let kubeconfig = kube::config::Kubeconfig::read_from(kubeconfig)?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await?;
    // An answer that asks to be tried again is an answer.
    config.default_retry = false;
    let client = Client::try_from(config)?;
    let mut stories = corpus::read(Path::new("oracle/corpus"))?;
    stories.retain(|story| only.is_empty() || only.contains(&story.name));
    for story in &stories {
        let answers = replay(&client, story).await?;
        match verb.as_str() {
            "record" => record(story, &answers)?,
            "compare" => print(story, &answers)?,
            _ => bail!("{USAGE}"),
        }
    }
    Ok(())
}

fn record(story: &Story, answers: &[Answer]) -> Result<()> {
    let mut lines = String::new();
    let mut codes = BTreeMap::<u16, usize>::new();
    for (request, answer) in story.requests.iter().zip(answers) {
        lines += &format!("{}\n", answer.to_line(&request.title()));
        *codes.entry(answer.code).or_default() += 1;
    }
    let path = format!("oracle/recorded/{}.jsonl", story.name);
    std::fs::write(&path, lines).context(path)?;
    println!("{}: {} answers, {codes:?}", story.name, answers.len());
    Ok(())
}

fn print(story: &Story, answers: &[Answer]) -> Result<()> {
    let recorded = flotilla_oracle::recorded(Path::new("oracle/recorded"), story)?;
    let report = flotilla_oracle::report(story, &recorded, answers);
    print!("{report}");
    Ok(())
}
