//! The resolver's side towards clients: queries in, replies out.

use std::net::{IpAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Resolver;
use super::walk::Answer;
use crate::answer::{self, Reply, Transport};
use crate::message::query::{Query, Reject};
use crate::message::writer::{self, OPT_OCTETS, RecordParts, Section};
use crate::message::{FLAG_AA, FLAG_RA, FLAG_RD, FLAG_TC, Question, TCP_OCTETS_MAX, Writer};
use crate::name::Name;
use crate::record::{Rcode, Record};
use crate::server::{Counters, Replies, Respond, Served};

/// Datagrams answered at once; more wait in the socket's buffer.
const CLIENTS_MAX: usize = 1024;
/// Largest query taken.
const QUERY_OCTETS_MAX: usize = 4096;
/// Pause after the socket failed to receive.
const ERROR_PAUSE: Duration = Duration::from_millis(10);

/// Answers clients from a resolver.
pub(super) struct Front {
    pub(super) resolver: Resolver,
    pub(super) counters: Arc<Counters>,
}

impl Front {
    async fn reply(&self, query: &[u8], transport: Transport) -> Option<Vec<u8>> {
        let (reply, octets) = match self.answer(query).await {
            Ok((asked, answer)) => write(&asked, query, &answer, transport),
            Err(Reject::Drop) => (None, Vec::new()),
            Err(reject) => refuse(query, reject),
        };
        self.counters.count(Served { transport, reply });
        reply.map(|_| octets)
    }

    async fn answer(&self, query: &[u8]) -> Result<(Question, Arc<Answer>), Reject> {
        let question = {
            let query = Query::parse(query)?;
            let refused = |rcode| Reject::Reply {
                rcode,
                question_octets: query.question.len(),
                edns: query.edns.is_some(),
            };
            if query.rtype.is_meta() {
                return Err(refused(Rcode::NOTIMP));
            }
            // Without RD only the cache might be shown, which is nobody's business (RFC 5358).
            if query.flags & FLAG_RD == 0 {
                return Err(refused(Rcode::REFUSED));
            }
            let name = Name::from_wire(query.name()).map_err(|_| refused(Rcode::FORMERR))?;
            Question {
                name,
                rtype: query.rtype,
            }
        };
        let answer = self.resolver.resolve(&question).await;
        Ok((question, answer))
    }
}

impl Respond for Front {
    fn counters(&self) -> &Counters {
        &self.counters
    }

    async fn respond(&self, query: &[u8], _client: IpAddr) -> Option<Replies> {
        self.reply(query, Transport::Tcp).await.map(Replies::One)
    }
}

/// Answers datagrams until `stopping`.
pub(super) async fn serve_udp(socket: UdpSocket, front: Arc<Front>, stopping: CancellationToken) {
    let socket = socket
        .set_nonblocking(true)
        .and_then(|()| tokio::net::UdpSocket::from_std(socket));
    let socket = match socket {
        Ok(socket) => Arc::new(socket),
        Err(error) => return tracing::error!(%error, "The resolver's socket cannot be used"),
    };
    let mut clients = JoinSet::new();
    let mut buffer = vec![0; QUERY_OCTETS_MAX];
    loop {
        let full = clients.len() >= CLIENTS_MAX;
        tokio::select! {
            () = stopping.cancelled() => break,
            Some(_) = clients.join_next(), if !clients.is_empty() => {}
            received = socket.recv_from(&mut buffer), if !full => {
                let Ok((octets, client)) = received else {
                    tokio::time::sleep(ERROR_PAUSE).await;
                    continue;
                };
                let query = buffer[..octets].to_vec();
                let (front, socket) = (Arc::clone(&front), Arc::clone(&socket));
                clients.spawn(async move {
                    if let Some(reply) = front.reply(&query, Transport::Udp).await {
                        // A reply that cannot be sent is a lost datagram; the client asks again.
                        let _ = socket.send_to(&reply, client).await;
                    }
                });
            }
        }
    }
}

fn refuse(query: &[u8], reject: Reject) -> (Option<Reply>, Vec<u8>) {
    let Reject::Reply {
        rcode,
        question_octets,
        edns,
    } = reject
    else {
        return (None, Vec::new());
    };
    let mut out = vec![0; 512];
    let reply = answer::reject(query, rcode, question_octets, edns, &mut out);
    out.truncate(reply.octets);
    (Some(reply), out)
}

/// Writes an answer for a query that has been parsed before.
fn write(
    asked: &Question,
    query: &[u8],
    answer: &Answer,
    transport: Transport,
) -> (Option<Reply>, Vec<u8>) {
    let Ok(query) = Query::parse(query) else {
        return (None, Vec::new());
    };
    let octets_max = match transport {
        Transport::Udp => query.udp_octets(),
        Transport::Tcp => TCP_OCTETS_MAX,
    };
    let mut out = vec![0; octets_max];
    let mut writer = Writer::new(&mut out, octets_max, query.question);
    if query.edns.is_some() {
        writer.reserve(OPT_OCTETS);
    }
    let put = |writer: &mut Writer<'_>, section, record| put(writer, section, record, &asked.name);
    let mut records = answer.records.iter();
    let mut truncated = !records.all(|record| put(&mut writer, Section::Answer, record));
    truncated |= !answer
        .soa
        .iter()
        .all(|record| put(&mut writer, Section::Authority, record));
    if let Some(edns) = query.edns {
        let fits = writer.put_opt(answer.rcode, edns.dnssec_ok, &[]);
        assert!(fits, "room for the OPT record was reserved");
    }
    let flags = writer::reply_flags(query.flags, false) & !FLAG_AA | FLAG_RA;
    let flags = if truncated { flags | FLAG_TC } else { flags };
    let octets = writer.finish(query.id, flags, answer.rcode, 1);
    out.truncate(octets);
    (
        Some(Reply {
            octets,
            rcode: answer.rcode,
            truncated,
            verified: false,
            kind: 0,
        }),
        out,
    )
}

fn put(writer: &mut Writer<'_>, section: Section, record: &Record, asked: &Name) -> bool {
    let mut rdata = Vec::new();
    if record.data.encode(&mut rdata).is_err() {
        return false;
    }
    let owner = if record.name == *asked {
        &[0xc0, 12]
    } else {
        record.name.wire()
    };
    let rtype = record.data.rtype();
    writer.put_record(
        section,
        RecordParts {
            owner,
            rtype,
            ttl_seconds: record.ttl_seconds,
            rdata: &rdata,
        },
    )
}
