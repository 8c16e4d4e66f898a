use super::*;

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn question(text: &str) -> Question {
    Question {
        name: name(text),
        rtype: Type::A,
    }
}

fn hints() -> Vec<Hint> {
    vec![Hint {
        zone: name("example.com"),
        servers: vec!["127.1.0.1:1053".parse().unwrap()],
    }]
}

/// `owner ttl type data`, as records print.
fn record(text: &str) -> Record {
    let words = text.split_whitespace().collect::<Vec<_>>();
    let data = match words[2] {
        "A" => Data::A(words[3].parse().unwrap()),
        "NS" => Data::Ns(name(words[3])),
        "CNAME" => Data::Cname(name(words[3])),
        "SOA" => Data::Soa(Soa {
            mname: name("ns"),
            rname: name("mail"),
            serial: 1,
            refresh_seconds: 1,
            retry_seconds: 1,
            expire_seconds: 1,
            minimum_seconds: 30,
        }),
        other => panic!("the fixture knows no {other}"),
    };
    Record {
        name: name(words[0]),
        ttl_seconds: words[1].parse().unwrap(),
        data,
    }
}

/// A reply from lines: `aa`, `nxdomain`, `answer <record>`, `auth <record>`, `add <record>`.
fn reply(text: &str) -> Message {
    let mut message = Message {
        id: 0,
        flags: 0,
        rcode: Rcode::NOERROR,
        question: None,
        answers: vec![],
        authorities: vec![],
        additionals: vec![],
        udp_octets: None,
    };
    for line in text
        .split(';')
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        match line.split_once(' ') {
            Some(("answer", rest)) => message.answers.push(record(rest)),
            Some(("auth", rest)) => message.authorities.push(record(rest)),
            Some(("add", rest)) => message.additionals.push(record(rest)),
            _ if line == "aa" => message.flags |= FLAG_AA,
            _ if line == "nxdomain" => message.rcode = Rcode::NXDOMAIN,
            _ => panic!("the fixture knows no {line}"),
        }
    }
    message
}

/// Walks for an A record, giving `replies` in turn (`-` for none), and tells the story: who was asked what, and the end.
fn story(host: &str, replies: &[&str]) -> String {
    let mut cache = Cache::new(100);
    story_with(&mut cache, host, replies)
}

fn story_with(cache: &mut Cache, host: &str, replies: &[&str]) -> String {
    let mut walk = Walk::new(question(host));
    let mut told = String::new();
    let mut replies = replies.iter();
    loop {
        match walk.step(&hints(), cache, 0) {
            Step::Ask { servers, question } => {
                let servers = servers
                    .iter()
                    .map(SocketAddr::to_string)
                    .collect::<Vec<_>>();
                told += &format!("{} at {}\n", question.name, servers.join(" "));
                let text = replies.next().unwrap_or(&"-");
                walk.take((*text != "-").then(|| reply(text)), cache, 0);
            }
            Step::Done(answer) => {
                let records = answer.records.iter().map(Record::to_string);
                let told_end = records.collect::<Vec<_>>().join(", ");
                return format!("{told}{} {told_end}", answer.rcode)
                    .trim_end()
                    .to_owned();
            }
        }
    }
}

const REFERRAL: &str = "auth cloud.example.com 60 NS ns-eu.example.com;
    auth cloud.example.com 60 NS ns-us.example.com;
    add ns-eu.example.com 60 A 127.1.1.1; add ns-us.example.com 60 A 127.1.2.1";

#[test]
fn walks_down_a_referral_with_glue() {
    let told = story(
        "app.cloud.example.com",
        &[REFERRAL, "aa; answer app.cloud.example.com 5 A 127.1.1.10"],
    );
    assert_eq!(
        told,
        "app.cloud.example.com at 127.1.0.1:1053\n\
         app.cloud.example.com at 127.1.1.1:0 127.1.2.1:0\n\
         NOERROR app.cloud.example.com 5 A 127.1.1.10"
    );
}

#[test]
fn looks_aside_for_servers_without_glue() {
    let told = story(
        "app.sub.example.com",
        &[
            "auth sub.example.com 60 NS ns.other.example.com",
            "aa; answer ns.other.example.com 60 A 127.1.9.9",
            "aa; answer app.sub.example.com 5 A 127.1.1.10",
        ],
    );
    assert_eq!(
        told,
        "app.sub.example.com at 127.1.0.1:1053\n\
         ns.other.example.com at 127.1.0.1:1053\n\
         app.sub.example.com at 127.1.9.9:0\n\
         NOERROR app.sub.example.com 5 A 127.1.1.10"
    );
}

#[test]
fn follows_aliases_into_other_zones() {
    let told = story(
        "www.example.com",
        &[
            "aa; answer www.example.com 60 CNAME app.cloud.example.com",
            REFERRAL,
            "aa; answer app.cloud.example.com 5 A 127.1.1.10",
        ],
    );
    assert!(told.ends_with(
        "NOERROR www.example.com 60 CNAME app.cloud.example.com, app.cloud.example.com 5 A 127.1.1.10"
    ));
}

#[test]
fn negative_answers_are_told_apart_and_remembered() {
    let mut cache = Cache::new(100);
    let soa = "aa; nxdomain; auth example.com 60 SOA";
    let told = story_with(&mut cache, "no.example.com", &[soa]);
    assert_eq!(told, "no.example.com at 127.1.0.1:1053\nNXDOMAIN");
    assert_eq!(story_with(&mut cache, "no.example.com", &[]), "NXDOMAIN");
    let told = story_with(
        &mut cache,
        "empty.example.com",
        &["aa; auth example.com 60 SOA"],
    );
    assert_eq!(told, "empty.example.com at 127.1.0.1:1053\nNOERROR");
    assert_eq!(story_with(&mut cache, "empty.example.com", &[]), "NOERROR");
}

#[test]
fn foreign_records_are_not_believed() {
    let mut cache = Cache::new(100);
    // A server of cloud.example.com speaks about its parent's names, and refers upwards.
    let lies = "aa; answer app.cloud.example.com 60 CNAME www.example.com; answer www.example.com 60 A 6.6.6.6";
    let truth = "aa; answer www.example.com 60 A 127.1.0.5";
    let told = story_with(
        &mut cache,
        "app.cloud.example.com",
        &[REFERRAL, lies, truth],
    );
    assert!(told.ends_with("www.example.com 60 A 127.1.0.5"), "{told}");
    let upwards = "auth example.com 60 NS evil.example.com; add evil.example.com 60 A 6.6.6.6";
    let told = story_with(
        &mut cache,
        "b.cloud.example.com",
        &[upwards, upwards, upwards, upwards],
    );
    assert!(told.ends_with("SERVFAIL"), "{told}");
    assert!(!told.contains("6.6.6.6"), "{told}");
}

#[test]
fn outdated_delegations_are_asked_for_again_once() {
    let mut cache = Cache::new(100);
    let answer = "aa; answer a.cloud.example.com 5 A 127.1.1.10";
    story_with(&mut cache, "a.cloud.example.com", &[REFERRAL, answer]);
    let moved =
        "auth cloud.example.com 60 NS ns-za.example.com; add ns-za.example.com 60 A 127.1.3.1";
    let told = story_with(
        &mut cache,
        "b.cloud.example.com",
        &["-", moved, "aa; answer b.cloud.example.com 5 A 127.1.3.10"],
    );
    assert_eq!(
        told,
        "b.cloud.example.com at 127.1.1.1:0 127.1.2.1:0\n\
         b.cloud.example.com at 127.1.0.1:1053\n\
         b.cloud.example.com at 127.1.3.1:0\n\
         NOERROR b.cloud.example.com 5 A 127.1.3.10"
    );
}

#[test]
fn dead_ends_end() {
    assert!(story("a.example.com", &[]).ends_with("SERVFAIL"));
    assert!(story("elsewhere.org", &[]).ends_with("REFUSED"));
    let looped = "aa; answer a.example.com 5 CNAME b.example.com; answer b.example.com 5 CNAME a.example.com";
    assert!(story("a.example.com", &[looped]).ends_with("SERVFAIL"));
    // Two zones whose servers live in each other.
    let ping = "auth ping.example.com 60 NS ns.pong.example.com";
    let pong = "auth pong.example.com 60 NS ns.ping.example.com";
    let told = story(
        "a.ping.example.com",
        &[ping, pong, ping, pong, ping, pong, ping, pong],
    );
    assert!(told.ends_with("SERVFAIL"), "{told}");
    // Servers that refer ever deeper.
    let deep = (0..60).map(|depth| {
        let zone = "x.".repeat(depth + 1) + "example.com";
        format!("auth {zone} 60 NS ns.{zone}; add ns.{zone} 60 A 127.1.1.1")
    });
    let deep = deep.collect::<Vec<_>>();
    let host = "x.".repeat(70) + "example.com";
    let told = story(&host, &deep.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(told.ends_with("SERVFAIL"));
    assert_eq!(told.lines().count(), STEPS_MAX + 1);
}
