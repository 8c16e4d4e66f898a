//! The file behind the store: a `redb` database with one row per live object and the newest revision.
//!
//! It is written once per batch and read once per start; nothing else ever waits for it. Page checksums are verified on
//! every open, so damage is found before a client sees it.

use std::{
    collections::BTreeMap,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::Arc,
};

use redb::{
    Builder, Database, DatabaseError, ReadableDatabase, ReadableTable, StorageBackend,
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
    /// Opens or creates the file at `path` and takes its lock.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
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

    /// Opens a database on `backend`; `path` is only for error texts.
    pub(crate) fn open_on(path: &Path, backend: impl StorageBackend) -> Result<Self, StoreError> {
        let database = Builder::new()
            .set_cache_size(CACHE_BYTES)
            .set_check_integrity_on_open(true)
            .create_with_backend(backend)
            .map_err(|error| match error {
                DatabaseError::DatabaseAlreadyOpen => StoreError::Locked(path.into()),
                other => refine(path, other.into()),
            })?;
        prepare(&database).map_err(|error| refine(path, error))?;
        Ok(Self::File {
            path: path.into(),
            database: Box::new(database),
        })
    }

    /// Whether anything survives a restart.
    pub(crate) fn keeps(&self) -> bool {
        matches!(self, Self::File { .. })
    }

    /// Everything that is stored, at the newest revision.
    pub(crate) fn load(&self) -> Result<State, StoreError> {
        let Self::File { path, database } = self else {
            return Ok(State::new(1));
        };
        let corrupt = |reason: String| StoreError::Corrupt {
            path: path.clone(),
            reason,
        };
        let found = read_meta(database, "format").map_err(|error| refine(path, error))?;
        if found != Some(FORMAT) {
            return Err(StoreError::Format {
                path: path.clone(),
                found: found.unwrap_or_default(),
                supported: FORMAT,
            });
        }
        let rev = read_meta(database, "revision")
            .map_err(|error| refine(path, error))?
            .ok_or_else(|| corrupt("it has no revision".into()))?;
        let mut state = State::new(rev);
        let objects = read_objects(database).map_err(|error| refine(path, error))?;
        for (key, object) in objects {
            let (resource, object) = object
                .filter(|(_, object)| object.rev <= rev)
                .ok_or_else(|| corrupt(format!("object {} is unreadable", key.escape_ascii())))?;
            let objects = &mut state.collection_mut(&resource).objects;
            objects.insert_cow(object.key.clone(), Arc::new(object));
        }
        Ok(state)
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
                        objects.insert(key.as_slice(), record::encode(object).as_slice())?;
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

fn read_meta(database: &Database, name: &str) -> Result<Option<u64>, redb::Error> {
    let table = database.begin_read()?.open_table(META)?;
    Ok(table.get(name)?.map(|value| value.value()))
}

/// A row: its key, and what it says if it can be read.
type Row = (Vec<u8>, Option<(ResourceKey, Object)>);

fn read_objects(database: &Database) -> Result<Vec<Row>, redb::Error> {
    let table = database.begin_read()?.open_table(OBJECTS)?;
    let mut shared = [(); 3].map(|()| SharedText::default());
    let mut rows = Vec::new();
    for row in table.iter()? {
        let (key, value) = row?;
        let read = record::decode_key(key.value()).and_then(|(group, plural, namespace, name)| {
            let key = ObjectKey {
                namespace: shared[2].share(namespace),
                name: name.into(),
            };
            let resource = ResourceKey {
                group: shared[0].share(group),
                plural: shared[1].share(plural),
            };
            Some((resource, record::decode(key, value.value())?))
        });
        rows.push((key.value().to_vec(), read));
    }
    Ok(rows)
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
