//! etcd's releases, and the known defects of each (docs/semantics/servers.md#etcd-defects; etcd's changelogs).

use std::fmt;
use std::str::FromStr;

use crate::defect::Defect;
use crate::fault::Fault;
use crate::version::{Version, minor_and_patch, nearest_minor};

/// A release of etcd: 3.4 to 3.6, with any patch from 0 to 255, released or not. The simulator knows the defects of
/// these minor versions only. Other releases are refused with [`UnknownEtcdVersion`]. Releases are ordered by minor
/// version, then patch. A release is written as `3.5.12`; it is parsed with or without `v` and patch, and a text
/// without a patch means patch 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EtcdVersion {
    minor: u8,
    patch: u8,
}

/// The error for a text or numbers that are not a release of a simulated etcd. The error's text names the range of
/// releases. It also names the nearest minor version, for numbers and for a text such as `3.7`, `4.0` or `5`. For a
/// text without a minor version (`3`, `new`), or with other letters than `v` before it (`V3.5`), it names none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownEtcdVersion {
    nearest_minor: Option<u8>,
}

impl fmt::Display for UnknownEtcdVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a version of etcd is 3.4 to 3.6, with or without a patch, as 3.5.12")?;
        match self.nearest_minor {
            Some(minor) => write!(f, "; nearest: 3.{minor}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for UnknownEtcdVersion {}

/// The error for a fault that a release of etcd does not have. The error's text names the releases that have the fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotInThisEtcd {
    version: EtcdVersion,
    name: &'static str,
    had: &'static [Affected],
}

impl fmt::Display for NotInThisEtcd {
    /// Writes a text such as `etcd 3.5.13 does not have etcd#17529; 3.4.0 to 3.4.30 and 3.5.0 to 3.5.12 have it`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NotInThisEtcd { version, name, had } = self;
        write!(f, "etcd {version} does not have {name}; ")?;
        for (turn, Affected { minor, fixed }) in had.iter().enumerate() {
            let between = match turn {
                0 => "",
                _ if turn + 1 == had.len() => " and ",
                _ => ", ",
            };
            write!(f, "{between}3.{minor}.0 to 3.{minor}.{}", fixed - 1)?;
        }
        f.write_str(" have it")
    }
}

impl std::error::Error for NotInThisEtcd {}

/// A minor version that has a defect, and the patch release that fixed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Affected {
    minor: u8,
    fixed: u8,
}

const fn affected(minor: u8, fixed: u8) -> Affected {
    Affected { minor, fixed }
}

impl EtcdVersion {
    /// The oldest simulated minor version of etcd 3. An older minor version is refused with [`UnknownEtcdVersion`]. The
    /// sources for defects (docs/semantics/servers.md#etcd-defects) begin with this version.
    pub const OLDEST_MINOR: u8 = 4;
    /// The newest simulated minor version of etcd 3. A newer minor version is refused with [`UnknownEtcdVersion`]. The
    /// sources for defects (docs/semantics/servers.md#etcd-defects) end with this version.
    pub const NEWEST_MINOR: u8 = 6;

    /// Returns `3.minor.patch`; any patch is taken, released or not.
    ///
    /// # Errors
    /// [`UnknownEtcdVersion`] for a minor version below 4 or above 6.
    pub fn new(minor: u8, patch: u8) -> Result<EtcdVersion, UnknownEtcdVersion> {
        let clamped = minor.clamp(EtcdVersion::OLDEST_MINOR, EtcdVersion::NEWEST_MINOR);
        if minor == clamped {
            Ok(EtcdVersion { minor, patch })
        } else {
            Err(UnknownEtcdVersion {
                nearest_minor: Some(clamped),
            })
        }
    }

    /// Returns the release that kubeadm installs with the first release of a minor version of Kubernetes. Source:
    /// `DefaultEtcdVersion` in kubeadm's `constants.go` at each 1.x.0. Kubernetes 1.37 was not released when this was
    /// written, so it has the etcd of 1.36. Returns `None` for Kubernetes below 1.17, whose etcd is older than 3.4.
    pub fn shipped_with(kubernetes: Version) -> Option<EtcdVersion> {
        let (minor, patch) = match kubernetes.minor() {
            ..=16 => return None,
            17 | 18 => (4, 3),
            19 => (4, 9),
            20 | 21 => (4, 13),
            22 => (5, 0),
            23 => (5, 1),
            24 => (5, 3),
            25 => (5, 4),
            26 => (5, 6),
            27 => (5, 7),
            28 => (5, 9),
            29 => (5, 10),
            30 => (5, 12),
            31 => (5, 15),
            32 => (5, 16),
            33 => (5, 21),
            34 => (6, 4),
            35 => (6, 6),
            36.. => (6, 8),
        };
        Some(EtcdVersion { minor, patch })
    }

    /// Checks whether this release can have a fault. Only [`Fault::EtcdDefect`] and [`Fault::MissWrites`] depend on the
    /// release; every other fault passes.
    ///
    /// # Errors
    /// [`NotInThisEtcd`] if the release never had the defect, or has its fix.
    pub fn check(self, fault: &Fault) -> Result<(), NotInThisEtcd> {
        let Some((name, had)) = known(fault) else {
            return Ok(());
        };
        let has = |a: &Affected| a.minor == self.minor && self.patch < a.fixed;
        if had.iter().any(has) {
            Ok(())
        } else {
            let version = self;
            Err(NotInThisEtcd { version, name, had })
        }
    }

    /// Returns whether apiservers trust the release's progress notifications: from 3.4.31 and 3.5.13 on, and all of 3.6
    /// (docs/semantics/lists-and-watches.md#consistent-list).
    pub(crate) fn is_trusted(self) -> bool {
        match self.minor {
            4 => self.patch >= 31,
            5 => self.patch >= 13,
            _ => true,
        }
    }
}

/// Returns the name of a fault that only some releases have, and these releases; `None` for every other fault.
fn known(fault: &Fault) -> Option<(&'static str, &'static [Affected])> {
    Some(match fault {
        Fault::EtcdDefect(defect) => match defect {
            Defect::ProgressAheadOfEvents => {
                ("etcd#15220", const { &[affected(4, 25), affected(5, 8)] })
            }
            Defect::BackInTimeAfterPartition => {
                ("etcd#15271", const { &[affected(4, 25), affected(5, 8)] })
            }
            Defect::DuplicateEvents => (
                "the duplicates of PR 15274",
                const { &[affected(4, 24), affected(5, 8)] },
            ),
            Defect::GapUnderStarvation => {
                ("etcd#17529", const { &[affected(4, 31), affected(5, 13)] })
            }
            Defect::NoProgressForIdleWatch => (
                "the silence of PR 17566",
                const { &[affected(4, 31), affected(5, 13)] },
            ),
            Defect::DeleteLostByCompactionAtIt => {
                ("etcd#18089", const { &[affected(4, 34), affected(5, 16)] })
            }
            Defect::DeleteLostByRestartAfterCompaction => {
                ("etcd#19179", const { &[affected(4, 36), affected(5, 18)] })
            }
            Defect::OldEventsOnFutureWatch => (
                "etcd#20221",
                const { &[affected(4, 38), affected(5, 22), affected(6, 2)] },
            ),
            Defect::RevisionDecreasesAfterCrash => {
                ("etcd#17780", const { &[affected(4, 32), affected(5, 14)] })
            }
        },
        Fault::MissWrites { .. } => ("etcd#13766 and #14685", const { &[affected(5, 6)] }),
        _ => return None,
    })
}

impl fmt::Display for EtcdVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "3.{}.{}", self.minor, self.patch)
    }
}

impl FromStr for EtcdVersion {
    type Err = UnknownEtcdVersion;

    /// Parses texts such as `3.5`, `3.5.12` and `v3.5.12`. A text without a patch means the first release of the minor
    /// version.
    ///
    /// # Errors
    /// [`UnknownEtcdVersion`] for any other text, a minor version below 4 or above 6, or a patch above 255.
    fn from_str(text: &str) -> Result<EtcdVersion, UnknownEtcdVersion> {
        let Some((minor, patch)) = minor_and_patch(text, "3.") else {
            let (oldest, newest) = (EtcdVersion::OLDEST_MINOR, EtcdVersion::NEWEST_MINOR);
            let nearest_minor = nearest_minor(text, 3, oldest, newest);
            return Err(UnknownEtcdVersion { nearest_minor });
        };
        EtcdVersion::new(minor, patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> EtcdVersion {
        text.parse().unwrap()
    }

    #[test]
    fn a_release_reads_as_it_is_written() {
        assert_eq!(version("v3.5.12").to_string(), "3.5.12");
        assert_eq!(version("3.4"), version("3.4.0"));
        for unknown in ["", "3", "3.3", "3.7", "2.3", "3.5.x", "3.5.300", "3.5.1.2"] {
            assert!(unknown.parse::<EtcdVersion>().is_err(), "{unknown}");
        }
        let refused = |text: &str| text.parse::<EtcdVersion>().unwrap_err().to_string();
        insta::assert_snapshot!(refused("3.3"), @"a version of etcd is 3.4 to 3.6, with or without a patch, as 3.5.12; nearest: 3.4");
        assert!(refused("3.5.x").ends_with("nearest: 3.5"));
        assert!(refused("4.0").ends_with("nearest: 3.6"));
    }

    #[test]
    fn kubernetes_comes_with_newer_and_newer_releases_and_trusts_them_when_it_reads_by_their_progress()
     {
        let mut before = None;
        for minor in 9..=Version::NEWEST_MINOR {
            let kubernetes = Version::new(minor, 0).unwrap();
            let shipped = EtcdVersion::shipped_with(kubernetes);
            assert!(shipped >= before, "1.{minor}: {shipped:?} after {before:?}");
            if kubernetes.lists_consistently_from_cache() {
                assert!(shipped.is_some_and(EtcdVersion::is_trusted), "1.{minor}");
            }
            before = shipped;
        }
        assert_eq!(before.map(|v| v.to_string()).as_deref(), Some("3.6.8"));
        // 1.27 came with an etcd that has the gap (docs/semantics/cases.md#lost-events).
        let shipped = EtcdVersion::shipped_with("1.27".parse().unwrap()).unwrap();
        let gap = Fault::EtcdDefect(Defect::GapUnderStarvation);
        assert_eq!(shipped.check(&gap), Ok(()));
    }

    #[test]
    fn each_defect_is_had_up_to_the_release_that_fixed_it() {
        for defect in Defect::ALL {
            let fault = Fault::EtcdDefect(defect);
            let (_, had) = known(&fault).unwrap();
            for Affected { minor, fixed } in had.iter().copied() {
                let release = |patch| EtcdVersion::new(minor, patch).unwrap();
                assert_eq!(release(0).check(&fault), Ok(()), "{defect:?}");
                assert_eq!(release(fixed - 1).check(&fault), Ok(()), "{defect:?}");
                assert!(release(fixed).check(&fault).is_err(), "{defect:?}");
            }
            assert!(version("3.6.2").check(&fault).is_err(), "{defect:?}");
        }
        assert_eq!(version("3.6.2").check(&Fault::CompactEtcd), Ok(()));
    }

    #[test]
    fn a_defect_that_a_release_does_not_have_is_refused_with_the_releases_that_have_it() {
        let refused = |text, fault: &Fault| version(text).check(fault).unwrap_err().to_string();
        let gap = Fault::EtcdDefect(Defect::GapUnderStarvation);
        insta::assert_snapshot!(refused("3.5.13", &gap), @"etcd 3.5.13 does not have etcd#17529; 3.4.0 to 3.4.30 and 3.5.0 to 3.5.12 have it");
        let old = Fault::EtcdDefect(Defect::OldEventsOnFutureWatch);
        insta::assert_snapshot!(refused("3.6.2", &old), @"etcd 3.6.2 does not have etcd#20221; 3.4.0 to 3.4.37, 3.5.0 to 3.5.21 and 3.6.0 to 3.6.1 have it");
        let missed = Fault::MissWrites {
            server: crate::ServerId(0),
        };
        insta::assert_snapshot!(refused("3.4.0", &missed), @"etcd 3.4.0 does not have etcd#13766 and #14685; 3.5.0 to 3.5.5 have it");
    }
}
