//! The cluster's keys and certificates, made on first start and kept in the data directory.
//!
//! Everything is ECDSA P-256, which takes about a millisecond where RSA takes seconds. The CA lives
//! ten years; leaf certificates one year, and are issued anew at a start when fewer than
//! [`RENEW_DAYS`] are left or the names changed. Private keys are readable by their owner only.

use std::{
    fs,
    io::Write,
    net::IpAddr,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use jiff::{Timestamp, ToSpan, tz::Offset};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use x509_parser::pem::parse_x509_pem;

/// Days before its end at which a certificate is issued anew.
pub const RENEW_DAYS: i64 = 30;
const CA_DAYS: i32 = 3650;
const LEAF_DAYS: i32 = 365;

/// A certificate chain and its private key, as PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Certificate, leaf first.
    pub certificate: String,
    /// PKCS#8 private key.
    pub key: String,
}

/// All keys of one cluster.
#[derive(Clone, Debug)]
pub struct Pki {
    /// Signs everything else; clients trust it and client certificates are checked with it.
    pub ca: Pair,
    /// What the server shows.
    pub serving: Pair,
    /// Client certificate of `kubernetes-admin`, a member of `system:masters`.
    pub admin: Pair,
    /// Private key that signs service account tokens.
    pub service_account_key: String,
    /// Keys that signed such tokens before: every `sa-*.key` beside `sa.key`. Their tokens stay good,
    /// so a key is changed by renaming it and starting anew.
    pub older_service_account_keys: Vec<String>,
    /// Names of the serving certificate.
    names: Vec<String>,
    /// The folder, if keys are kept.
    dir: Option<PathBuf>,
}

/// Why keys cannot be made or kept.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder cannot be read or written.
    #[error("cannot read or write {path}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// A certificate cannot be made, or a kept one cannot be read.
    #[error("cannot make or read the certificate {name}")]
    Certificate {
        /// Which one.
        name: &'static str,
        /// What is wrong.
        #[source]
        source: rcgen::Error,
    },
}

impl Pki {
    /// Loads the keys from `dir`, making what is missing, runs out soon, or has other names than
    /// `names`. Without a folder everything is made in memory.
    ///
    /// # Errors
    /// When files cannot be read, written or understood.
    pub fn open(dir: Option<&Path>, names: &[String], now: Timestamp) -> Result<Self, Error> {
        if let Some(dir) = dir {
            let made = fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(dir);
            made.map_err(|source| Error::Io {
                path: dir.to_owned(),
                source,
            })?;
        }
        let files = Files { dir };
        let ca = match files.load("ca")? {
            Some(ca) => ca,
            None => files.save("ca", certificate_authority(now).map_err(wrong("ca"))?)?,
        };
        let signer = KeyPair::from_pem(&ca.key).map_err(wrong("ca"))?;
        let issuer = Issuer::from_ca_cert_pem(&ca.certificate, signer).map_err(wrong("ca"))?;
        let serving = match files.load("apiserver")? {
            Some(pair) if is_fresh(&pair, now) && has_names(&pair, names) => pair,
            _ => {
                let pair = serving(&issuer, names, now).map_err(wrong("apiserver"))?;
                files.save("apiserver", pair)?
            }
        };
        let admin = match files.load("admin")? {
            Some(pair) if is_fresh(&pair, now) => pair,
            _ => {
                let pair = client(&issuer, "kubernetes-admin", &["system:masters"], now);
                files.save("admin", pair.map_err(wrong("admin"))?)?
            }
        };
        let service_account_key = match files.read("sa.key")? {
            Some(key) => key,
            None => {
                let key = KeyPair::generate().map_err(wrong("sa"))?.serialize_pem();
                files.write("sa.key", &key)?;
                key
            }
        };
        Ok(Self {
            ca,
            serving,
            admin,
            service_account_key,
            older_service_account_keys: files.older("sa-")?,
            names: names.to_vec(),
            dir: dir.map(Path::to_owned),
        })
    }

    /// A new serving certificate when the present one runs out soon; kept in the folder.
    ///
    /// # Errors
    /// When it cannot be made or written.
    pub fn renew_serving(&mut self, now: Timestamp) -> Result<Option<&Pair>, Error> {
        if is_fresh(&self.serving, now) {
            return Ok(None);
        }
        let signer = KeyPair::from_pem(&self.ca.key).map_err(wrong("ca"))?;
        let issuer = Issuer::from_ca_cert_pem(&self.ca.certificate, signer).map_err(wrong("ca"))?;
        let pair = serving(&issuer, &self.names, now).map_err(wrong("apiserver"))?;
        let dir = self.dir.as_deref();
        self.serving = Files { dir }.save("apiserver", pair)?;
        Ok(Some(&self.serving))
    }

    /// A client certificate for this user and these groups.
    ///
    /// # Errors
    /// When the CA cannot be read.
    pub fn client(&self, user: &str, groups: &[&str], now: Timestamp) -> Result<Pair, Error> {
        let signer = KeyPair::from_pem(&self.ca.key).map_err(wrong("ca"))?;
        let issuer = Issuer::from_ca_cert_pem(&self.ca.certificate, signer).map_err(wrong("ca"))?;
        client(&issuer, user, groups, now).map_err(wrong("client"))
    }
}

/// Names a serving certificate needs beside those the user adds: every way a client on this machine
/// or in the cluster calls the server.
pub fn serving_names(addresses: &[IpAddr], extra: &[String]) -> Vec<String> {
    let fixed = [
        "localhost",
        "127.0.0.1",
        "::1",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
    ];
    let mut names: Vec<String> = fixed.iter().map(|n| (*n).to_owned()).collect();
    names.extend(
        addresses
            .iter()
            .filter(|a| !a.is_unspecified())
            .map(IpAddr::to_string),
    );
    names.extend(extra.iter().cloned());
    names.sort();
    names.dedup();
    names
}

fn wrong(name: &'static str) -> impl Fn(rcgen::Error) -> Error {
    move |source| Error::Certificate { name, source }
}

fn certificate_authority(now: Timestamp) -> Result<Pair, rcgen::Error> {
    let mut params = params(&[], "kubernetes-ca", &[], CA_DAYS, now)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::CrlSign,
    ];
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?.pem();
    Ok(Pair {
        certificate,
        key: key.serialize_pem(),
    })
}

fn serving(
    issuer: &Issuer<'_, KeyPair>,
    names: &[String],
    now: Timestamp,
) -> Result<Pair, rcgen::Error> {
    let mut params = params(names, "kube-apiserver", &[], LEAF_DAYS, now)?;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    leaf(&params, issuer)
}

fn client(
    issuer: &Issuer<'_, KeyPair>,
    user: &str,
    groups: &[&str],
    now: Timestamp,
) -> Result<Pair, rcgen::Error> {
    let mut params = params(&[], user, groups, LEAF_DAYS, now)?;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    leaf(&params, issuer)
}

fn leaf(params: &CertificateParams, issuer: &Issuer<'_, KeyPair>) -> Result<Pair, rcgen::Error> {
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, issuer)?.pem();
    Ok(Pair {
        certificate,
        key: key.serialize_pem(),
    })
}

/// Valid from a day ago, so that clocks that are a little behind accept it.
fn params(
    names: &[String],
    common_name: &str,
    organizations: &[&str],
    days: i32,
    now: Timestamp,
) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names.to_vec())?;
    let mut subject = DistinguishedName::new();
    for organization in organizations {
        subject.push(DnType::OrganizationName, *organization);
    }
    subject.push(DnType::CommonName, common_name);
    params.distinguished_name = subject;
    let (year, month, day) = date(now, -1);
    params.not_before = rcgen::date_time_ymd(year, month, day);
    let (year, month, day) = date(now, days);
    params.not_after = rcgen::date_time_ymd(year, month, day);
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

/// Year, month and day of this many days after `now`, in UTC.
fn date(now: Timestamp, days: i32) -> (i32, u8, u8) {
    let date = Offset::UTC
        .to_datetime(now)
        .date()
        .saturating_add(days.days());
    let part = |number: i8| u8::try_from(number).unwrap_or(1);
    (i32::from(date.year()), part(date.month()), part(date.day()))
}

fn is_fresh(pair: &Pair, now: Timestamp) -> bool {
    let Ok((_, pem)) = parse_x509_pem(pair.certificate.as_bytes()) else {
        return false;
    };
    let Ok(certificate) = pem.parse_x509() else {
        return false;
    };
    let left = certificate.validity().not_after.timestamp() - now.as_second();
    left > RENEW_DAYS * 24 * 3600
}

fn has_names(pair: &Pair, names: &[String]) -> bool {
    use x509_parser::extensions::GeneralName;
    let Ok((_, pem)) = parse_x509_pem(pair.certificate.as_bytes()) else {
        return false;
    };
    let Ok(certificate) = pem.parse_x509() else {
        return false;
    };
    let Ok(Some(found)) = certificate.subject_alternative_name() else {
        return false;
    };
    let mut found: Vec<String> = found
        .value
        .general_names
        .iter()
        .filter_map(|name| match name {
            GeneralName::DNSName(name) => Some((*name).to_owned()),
            GeneralName::IPAddress(bytes) => match bytes.len() {
                4 => <[u8; 4]>::try_from(*bytes)
                    .ok()
                    .map(|b| IpAddr::from(b).to_string()),
                16 => <[u8; 16]>::try_from(*bytes)
                    .ok()
                    .map(|b| IpAddr::from(b).to_string()),
                _ => None,
            },
            _ => None,
        })
        .collect();
    found.sort();
    let mut wanted = names.to_vec();
    wanted.sort();
    found == wanted
}

/// The folder with the keys, or nothing.
struct Files<'a> {
    dir: Option<&'a Path>,
}

impl Files<'_> {
    fn load(&self, name: &str) -> Result<Option<Pair>, Error> {
        let certificate = self.read(&format!("{name}.crt"))?;
        let key = self.read(&format!("{name}.key"))?;
        Ok(certificate
            .zip(key)
            .map(|(certificate, key)| Pair { certificate, key }))
    }

    fn save(&self, name: &str, pair: Pair) -> Result<Pair, Error> {
        self.write(&format!("{name}.crt"), &pair.certificate)?;
        self.write(&format!("{name}.key"), &pair.key)?;
        Ok(pair)
    }

    fn read(&self, name: &str) -> Result<Option<String>, Error> {
        let Some(dir) = self.dir else { return Ok(None) };
        let path = dir.join(name);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text)),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(Error::Io { path, source }),
        }
    }

    /// Contents of the key files whose names begin like this, in the order of the names.
    fn older(&self, prefix: &str) -> Result<Vec<String>, Error> {
        let Some(dir) = self.dir else {
            return Ok(Vec::new());
        };
        let wrong = |source| Error::Io {
            path: dir.to_owned(),
            source,
        };
        let mut names = Vec::new();
        for entry in fs::read_dir(dir).map_err(wrong)? {
            let name = entry.map_err(wrong)?.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(prefix) && name.ends_with(".key") {
                names.push(name.into_owned());
            }
        }
        names.sort();
        let texts = names.iter().map(|name| self.read(name));
        let texts: Result<Vec<_>, _> = texts.collect();
        Ok(texts?.into_iter().flatten().collect())
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Error> {
        let Some(dir) = self.dir else { return Ok(()) };
        write_private(&dir.join(name), text.as_bytes()).map_err(|source| Error::Io {
            path: dir.join(name),
            source,
        })
    }
}

/// Writes a file that only its owner can read, replacing an older one in one step.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let draft = path.with_extension("new");
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&draft)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&draft, path)
}

#[cfg(test)]
mod tests;
