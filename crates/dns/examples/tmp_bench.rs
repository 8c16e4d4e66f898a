//! tmp
#![allow(clippy::print_stdout)]
use flotilla_dns::bench::*;
use std::time::Duration;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    if args[1] == "rebuild" {
        for n in [10, 1000, 100_000, 1_000_000] {
            println!("{n}: {}", rebuild(n, 200).unwrap());
        }
    } else if args[1] == "answer" {
        for mix in [Mix::Plain, Mix::Missing, Mix::Weighted, Mix::MixedCase] {
            for n in [10, 1000, 100_000, 1_000_000] {
                println!("{mix:?} {n}: {:.0} ns", answer_nanos(n, mix).unwrap());
            }
        }
    } else if args[1] == "echo" {
        println!(
            "{}",
            echo(args[2].parse().unwrap(), Duration::from_secs(3)).unwrap()
        );
    } else if args[1] == "serve" {
        let n: usize = args[2].parse().unwrap();
        let z = zones(
            n,
            match args[3].as_str() {
                "weighted" => Mix::Weighted,
                _ => Mix::Plain,
            },
        )
        .unwrap();
        let rt = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let _e = rt.enter();
        let s = flotilla_dns::server::Server::start(
            &flotilla_dns::server::Config::new("bench", vec!["127.0.0.1:5399".parse().unwrap()]),
            &z,
            &Default::default(),
        )
        .unwrap();
        println!("up {:?}", s.addresses());
        rt.block_on(async {
            tokio::time::sleep(Duration::from_secs(args[4].parse().unwrap())).await
        });
    } else {
        let rate: usize = args[2].parse().unwrap();
        for mix in [Mix::Plain, Mix::Missing, Mix::Weighted, Mix::MixedCase] {
            for n in [10, 1000, 100_000, 1_000_000] {
                println!(
                    "{mix:?} {n}: {}",
                    load(n, mix, rate, Duration::from_secs(3)).unwrap()
                );
            }
        }
    }
}
