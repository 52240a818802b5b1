//! The names of organisations and of their projects.

use std::fmt;
use std::str::FromStr;

use reprise_types::{UserId, UserIdError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Makes a name that has the form of a user's.
macro_rules! name_like_a_user {
    ($(#[$said:meta])* $name:ident, $error:ident, $wrong:literal) => {
        $(#[$said])*
        #[derive(
            Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(transparent)]
        pub struct $name(UserId);

        /// Why a text is no such name.
        #[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
        #[error($wrong)]
        pub struct $error(UserIdError);

        impl $name {
            pub fn as_str(&self) -> &str {
                self.0.as_str()
            }
        }

        impl FromStr for $name {
            type Err = $error;

            fn from_str(text: &str) -> Result<Self, $error> {
                text.parse().map(Self).map_err($error)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

name_like_a_user!(
    /// An organisation: named as a user is.
    OrgId,
    OrgIdError,
    "that is no name of an organisation: {0}"
);

name_like_a_user!(
    /// A project of an organisation, such as a team or a repository: named as a user is.
    ProjectId,
    ProjectIdError,
    "that is no name of a project: {0}"
);

/// A project with its organisation, as `ORGANISATION/PROJECT`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct OrgProject {
    pub org: OrgId,
    pub project: ProjectId,
}

impl FromStr for OrgProject {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // No name has a slash.
        let parts = text.split_once('/');
        let parts = parts.and_then(|(org, project)| org.parse().ok().zip(project.parse().ok()));
        parts
            .map(|(org, project)| Self { org, project })
            .ok_or_else(|| format!("`{text:.64}` names no project; write ORGANISATION/PROJECT"))
    }
}

impl TryFrom<String> for OrgProject {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<OrgProject> for String {
    fn from(project: OrgProject) -> Self {
        project.to_string()
    }
}

impl fmt::Display for OrgProject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.org, self.project)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_written_after_its_organisation() {
        let project: OrgProject = "acme/payments".parse().unwrap();
        assert_eq!(
            (project.org.as_str(), project.project.as_str()),
            ("acme", "payments")
        );
        assert_eq!(project.to_string(), "acme/payments");
        for wrong in [
            "",
            "acme",
            "acme/",
            "/payments",
            "a/b/c",
            "a b/c",
            "acme/.git",
        ] {
            assert!(wrong.parse::<OrgProject>().is_err(), "{wrong}");
        }
    }
}
