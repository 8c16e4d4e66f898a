use super::*;
use crate::answer::tests::catalog;
use crate::answer::{Context, Request, Transport, answer};
use crate::dnssec::Signer;
use crate::dnssec::ask::question;
use crate::dnssec::key::SigningKey;
use crate::order::Entropy;

fn key() -> PublicKey {
    SigningKey::generate().unwrap().0.public().clone()
}

fn zone() -> Name {
    Name::parse("cloud.example.com").unwrap()
}

#[test]
fn keys_outlive_silence_and_not_their_signatures() {
    let (eu, us) = (key(), key());
    let mut known = PeerKeys::default();
    assert!(known.note(&zone(), "eu", eu.clone(), 1000));
    assert!(known.note(&zone(), "us", us.clone(), 1000));
    assert!(!known.note(&zone(), "us", us.clone(), 2000), "no news");
    assert!(known.knows(&zone(), "us") && !known.knows(&zone(), "za"));
    assert_eq!(PeerKeys::parse(&known.to_text()), known);
    assert!(!known.forget(1000 + FORGET_SECONDS));
    assert!(known.forget(1001 + FORGET_SECONDS));
    assert_eq!(known.by_zone(), [(zone(), vec![us])].into());
    // A new key takes the place of the old one.
    assert!(known.note(&zone(), "us", eu.clone(), 3000));
    assert_eq!(known.by_zone(), [(zone(), vec![eu])].into());
}

#[test]
fn damaged_lines_cost_only_themselves() {
    let mut known = PeerKeys::default();
    known.note(&zone(), "eu", key(), 1000);
    let text = format!(
        "\nnonsense\ncloud.example.com us x 00\na. b 1 0g\n{}a b 1 010",
        known.to_text()
    );
    assert_eq!(PeerKeys::parse(&text), known);
}

/// Of the keys a cluster shows only its own is taken, and only with a signature that holds.
#[test]
fn a_peers_own_key_is_the_one_that_signs() {
    let signer = Signer::new(SigningKey::generate().unwrap().0);
    signer.set_peer_keys(&zone(), vec![key(), key()]);
    let catalog = catalog("zone cloud.example.com 30");
    let context = Context {
        catalog: &catalog,
        cookies: None,
        geo: None,
        signer: Some(&signer),
        now_seconds: 1_800_000_000,
    };
    let query = question(5, &zone());
    let request = Request {
        query: &query,
        client: [127, 0, 0, 1].into(),
        transport: Transport::Tcp,
    };
    let mut out = vec![0; 65_535];
    let reply = answer(&context, &request, &mut Entropy::new(1), &mut out).unwrap();
    let mut message = Message::parse(&out[..reply.octets]).unwrap();
    assert_eq!(message.answers.len(), 4);
    let found = |message: &Message, now: u32| own_key(message, &zone(), now);
    assert_eq!(
        found(&message, 1_800_000_000),
        Some(signer.public().clone())
    );
    assert_eq!(found(&message, 1_900_000_000), None, "long after");
    message.answers.remove(0);
    assert_eq!(
        found(&message, 1_800_000_000),
        None,
        "another set than was signed"
    );
    message.answers.clear();
    assert_eq!(found(&message, 1_800_000_000), None);
}
