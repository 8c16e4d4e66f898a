//! The MaxMind database of the DNS server, read again whenever its file changes.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use flotilla_dns::geo::{CurrentGeo, Geo};
use flotilla_gslb::config::GeoDatabase;

/// How often the file is looked at. A ConfigMap or a sidecar that renews the database does so daily at most.
const INTERVAL: Duration = Duration::from_secs(5);

/// What tells one content of the file from another without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    octets: u64,
}

/// A database file that is followed.
pub(crate) struct Follow {
    path: PathBuf,
    fields: Vec<String>,
    geo: CurrentGeo,
    seen: Option<Result<Stamp, std::io::ErrorKind>>,
}

/// What a look at the file showed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Looked {
    /// It is as before.
    Same,
    /// Another database is in use.
    Loaded,
    /// It cannot be used; the one in use stays.
    Unusable(String),
}

impl Follow {
    /// Follows the file of the settings.
    pub(crate) fn new(settings: &GeoDatabase, geo: CurrentGeo) -> Follow {
        Follow {
            path: settings.path.clone(),
            fields: settings.fields.clone(),
            geo,
            seen: None,
        }
    }

    /// Looks at the file until the future is dropped.
    pub(crate) async fn run(mut self) {
        loop {
            let path = self.path.display().to_string();
            match self.look().await {
                Looked::Same => {}
                Looked::Loaded => tracing::info!(path, "Answering by place"),
                Looked::Unusable(error) => {
                    tracing::warn!(
                        path,
                        error,
                        "The geo database cannot be used; what was in use stays"
                    );
                }
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    async fn look(&mut self) -> Looked {
        let found = tokio::fs::metadata(&self.path).await;
        let stamp = found
            .as_ref()
            .map_err(std::io::Error::kind)
            .map(|found| Stamp {
                modified: found.modified().ok(),
                octets: found.len(),
            });
        if self.seen == Some(stamp) {
            return Looked::Same;
        }
        self.seen = Some(stamp);
        if let Err(error) = found {
            return Looked::Unusable(error.to_string());
        }
        let fields: Vec<&str> = self.fields.iter().map(String::as_str).collect();
        let read = tokio::fs::read(&self.path).await;
        let geo = read
            .map_err(anyhow::Error::from)
            .and_then(|octets| Ok(Geo::new(octets, &fields)?));
        match geo {
            Ok(geo) => {
                self.geo.set(Some(geo));
                Looked::Loaded
            }
            Err(error) => Looked::Unusable(format!("{error:#}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use flotilla_dns::geo::CurrentGeo;
    use flotilla_gslb::config::GeoDatabase;
    use maxminddb_writer::Database;
    use maxminddb_writer::paths::IpAddrWithMask;

    use super::{Follow, Looked};

    fn database(place: &str) -> Vec<u8> {
        let mut database = Database::default();
        database.metadata.binary_format_major_version = 2;
        let data = database.insert_value(serde_json::json!({ "datacenter": place }));
        let ip = "192.0.2.0".parse().expect("an address");
        let network = IpAddrWithMask::new(ip, 24);
        database.insert_node(network, data.expect("a value"));
        database.write_to(Vec::new()).expect("a database")
    }

    #[tokio::test]
    async fn the_file_is_read_again_when_it_changes_and_a_broken_one_replaces_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("geoip.mmdb");
        let settings = GeoDatabase {
            path: path.clone(),
            fields: vec!["datacenter".into()],
        };
        let mut follow = Follow::new(&settings, CurrentGeo::default());
        assert!(
            matches!(follow.look().await, Looked::Unusable(_)),
            "not there yet"
        );
        assert_eq!(follow.look().await, Looked::Same, "said once");
        std::fs::write(&path, database("one")).expect("write");
        assert_eq!(follow.look().await, Looked::Loaded);
        assert_eq!(follow.look().await, Looked::Same);
        std::fs::write(&path, "nonsense").expect("write");
        assert!(matches!(follow.look().await, Looked::Unusable(_)));
        std::fs::write(&path, database("a longer name of a place")).expect("write");
        assert_eq!(follow.look().await, Looked::Loaded);
    }
}
