//! The file behind the store: a `redb` database with one row per live object and the newest revision.
//!
//! It is written once per batch and read once per start; nothing else ever waits for it.
//!
//! Damage is found before a client sees it: a start reads every row and checks its checksum, the order of the rows and their
//! number. The database's own check of all pages would take as long again and find nothing more that matters to us; after
//! a crash it runs anyway. A damaged page can make the database panic instead of failing, so opening catches that.

use std::{
    collections::BTreeMap,
    io::ErrorKind,
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    sync::Arc,
};

use redb::{
    Builder, Database, ReadableDatabase, ReadableTable, ReadableTableMetadata, StorageBackend,
    TableDefinition, backends::FileBackend,
};

use super::{
    StoreError,
    key::{ObjectKey, ResourceKey},
    object::Object,
    record::{self, SharedText},
    state::State,
};

const OBJECTS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("objects");
const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
const FORMAT: u64 = 1;

/// Pages kept by the database. Every read after the start comes from our own memory, so only the inner pages of the tree
/// and one batch matter.
const CACHE_BYTES: usize = 16 << 20;

/// Changes by row key; none removes the row.
pub(crate) type Changes = BTreeMap<Vec<u8>, Option<Arc<Object>>>;

/// The database file, or nothing.
pub(crate) enum Disk {
    /// Keeps nothing.
    Memory,
    /// Keeps everything in this file.
    File {
        /// For error texts.
        path: PathBuf,
        /// Holds the lock on the file while open.
        database: Box<Database>,
    },
}

impl Disk {
    /// Opens or creates the file at `path`, takes its lock and reads everything that is stored.
    pub(crate) fn open(path: &Path) -> Result<(Self, State), StoreError> {
        let open = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(|source| StoreError::Io {
                path: path.into(),
                source,
            })?;
        let backend = FileBackend::new(open).map_err(|error| refine(path, error.into()))?;
        Self::open_on(path, backend)
    }

    /// The same for a database on `backend`; `path` is only for error texts.
    pub(crate) fn open_on(
        path: &Path,
        backend: impl StorageBackend,
    ) -> Result<(Self, State), StoreError> {
        let open = || {
            let database = Builder::new()
                .set_cache_size(CACHE_BYTES)
                .create_with_backend(backend)
                .map_err(|error| refine(path, error.into()))?;
            prepare(&database).map_err(|error| refine(path, error))?;
            let state = load(path, &database)?;
            Ok((database, state))
        };
        // What a panic leaves behind is dropped with the closure.
        let opened = panic::catch_unwind(AssertUnwindSafe(open));
        let (database, state) = opened.unwrap_or_else(|_| {
            Err(StoreError::Corrupt {
                path: path.into(),
                reason: "its pages contradict each other".into(),
            })
        })?;
        let disk = Self::File {
            path: path.into(),
            database: Box::new(database),
        };
        Ok((disk, state))
    }

    /// Whether anything survives a restart.
    pub(crate) fn keeps(&self) -> bool {
        matches!(self, Self::File { .. })
    }

    /// Makes `changes` and `rev` durable in one transaction.
    ///
    /// # Errors
    /// After an error it is unknown whether the changes are on disk, and nothing more can be written.
    pub(crate) fn write(&self, changes: &Changes, rev: u64) -> Result<(), redb::Error> {
        let Self::File { database, .. } = self else {
            return Ok(());
        };
        let transaction = database.begin_write()?;
        {
            let mut objects = transaction.open_table(OBJECTS)?;
            for (key, object) in changes {
                match object {
                    Some(object) => {
                        let record = record::encode(key, object);
                        objects.insert(key.as_slice(), record.as_slice())?;
                    }
                    None => {
                        objects.remove(key.as_slice())?;
                    }
                }
            }
            transaction.open_table(META)?.insert("revision", rev)?;
        }
        Ok(transaction.commit()?)
    }
}

/// Creates the tables of a new database.
fn prepare(database: &Database) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    {
        let mut meta = transaction.open_table(META)?;
        if meta.get("format")?.is_some() {
            return Ok(());
        }
        meta.insert("format", FORMAT)?;
        meta.insert("revision", 1)?;
        transaction.open_table(OBJECTS)?;
    }
    Ok(transaction.commit()?)
}

/// Everything that is stored, at the newest revision.
fn load(path: &Path, database: &Database) -> Result<State, StoreError> {
    let corrupt = |reason: &str| StoreError::Corrupt {
        path: path.into(),
        reason: reason.into(),
    };
    let found = read_meta(database, "format").map_err(|error| refine(path, error))?;
    if found != Some(FORMAT) {
        return Err(StoreError::Format {
            path: path.into(),
            found: found.unwrap_or_default(),
            supported: FORMAT,
        });
    }
    let rev = read_meta(database, "revision").map_err(|error| refine(path, error))?;
    let rev = rev.ok_or_else(|| corrupt("it has no revision"))?;
    let mut state = State::new(rev);
    let rows = read_rows(database).map_err(|error| refine(path, error))?;
    let rows = rows.map_err(|reason| corrupt(&reason))?;
    for (resource, object) in rows {
        if object.rev > rev {
            return Err(corrupt("an object is newer than the newest revision"));
        }
        let objects = &mut state.collection_mut(&resource).objects;
        objects.insert_cow(object.key.clone(), Arc::new(object));
    }
    Ok(state)
}

fn read_meta(database: &Database, name: &str) -> Result<Option<u64>, redb::Error> {
    let table = database.begin_read()?.open_table(META)?;
    Ok(table.get(name)?.map(|value| value.value()))
}

/// All objects, or what is wrong with one of the rows.
type Rows = Result<Vec<(ResourceKey, Object)>, String>;

fn read_rows(database: &Database) -> Result<Rows, redb::Error> {
    let table = database.begin_read()?.open_table(OBJECTS)?;
    let mut reader = RowReader::default();
    let mut rows = Vec::new();
    for row in table.iter()? {
        let (key, value) = row?;
        match reader.read(key.value(), value.value()) {
            Some(row) => rows.push(row),
            None => {
                return Ok(Err(format!(
                    "row {} is unreadable",
                    key.value().escape_ascii()
                )));
            }
        }
    }
    let counted = table.len()?;
    if rows.len() as u64 != counted {
        return Ok(Err(format!("{} of {counted} objects are left", rows.len())));
    }
    Ok(Ok(rows))
}

/// Decodes rows in order and lets neighbours share the texts they have in common.
#[derive(Default)]
struct RowReader {
    group: SharedText,
    plural: SharedText,
    namespace: SharedText,
    previous: Vec<u8>,
}

impl RowReader {
    fn read(&mut self, row_key: &[u8], record: &[u8]) -> Option<(ResourceKey, Object)> {
        if row_key <= self.previous.as_slice() {
            return None;
        }
        self.previous.clear();
        self.previous.extend_from_slice(row_key);
        let (group, plural, namespace, name) = record::decode_key(row_key)?;
        let resource = ResourceKey {
            group: self.group.share(group),
            plural: self.plural.share(plural),
        };
        let key = ObjectKey {
            namespace: self.namespace.share(namespace),
            name: name.into(),
        };
        Some((resource, record::decode(row_key, key, record)?))
    }
}

/// Sorts a database error by what a person can do about it.
fn refine(path: &Path, error: redb::Error) -> StoreError {
    let path = path.to_owned();
    match error {
        // This is how the database says that the file is something else.
        redb::Error::Io(source) if source.kind() == ErrorKind::InvalidData => StoreError::Corrupt {
            path,
            reason: source.to_string(),
        },
        redb::Error::Io(source) => StoreError::Io { path, source },
        redb::Error::DatabaseAlreadyOpen => StoreError::Locked(path),
        other => StoreError::Corrupt {
            path,
            reason: other.to_string(),
        },
    }
}
