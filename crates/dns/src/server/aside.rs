//! Messages that are not answered from the zones' records alone: updates, NOTIFY, and questions of those who keep a copy.

use std::net::IpAddr;
use std::time::Duration;

use tokio::sync::mpsc;

use super::Answerer;
use crate::answer::Transport;
use crate::notify::{self, Notice};
use crate::transfer::{self, Granted};
use crate::tsig::Key;
use crate::update;

/// Where notices of changed zones go.
#[derive(Debug, Clone)]
pub struct Notices {
    /// The key they must be signed with.
    pub key: Key,
    /// Takes them. When it is full they are dropped: the channel then holds enough reasons to look.
    pub sender: mpsc::Sender<Notice>,
}

impl Answerer {
    /// What a message gets that is no ordinary question; `None` when it is one.
    pub(super) fn aside(
        &self,
        message: &[u8],
        client: IpAddr,
        transport: Transport,
        now: Duration,
    ) -> Option<Granted> {
        if let Some(updates) = &self.updates
            && update::is_update(message)
        {
            return Some(Granted::One(updates.respond(message, now.as_secs())));
        }
        if let Some(notices) = &self.notices
            && notify::is_notify(message)
        {
            let catalog = self.zones.current().load();
            let (reply, notice) =
                notify::receive(&catalog, &notices.key, message, client, now.as_secs());
            if let Some(notice) = notice {
                // Full means that the receiver has plenty to look at.
                let _ = notices.sender.try_send(notice);
            }
            return Some(Granted::One(reply));
        }
        if self.transfer_keys.is_empty() || !transfer::concerns(message) {
            return None;
        }
        let catalog = self.zones.current().load();
        transfer::grant(
            &catalog,
            &self.transfer_keys,
            message,
            transport,
            now.as_secs(),
        )
    }
}
