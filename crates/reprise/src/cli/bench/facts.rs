//! Facts that change, and things that happen, each with a question in other words.

use super::names::{one, thing};

/// A sentence with its question; `{s}` is a thing, `{v}` a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Form {
    says: &'static str,
    asks: &'static str,
    values: &'static [&'static str],
}

/// What was said, and what somebody asks who has forgotten it.
#[derive(Debug, Clone)]
pub(super) struct Said {
    pub(super) text: String,
    pub(super) question: String,
}

impl Form {
    /// About thing number `about`, with value number `value`.
    pub(super) fn said(&self, about: usize, value: usize) -> Said {
        let (thing, value) = (thing(about), one(self.values, value));
        let filled = |form: &str| form.replace("{s}", &thing).replace("{v}", value);
        Said {
            text: filled(self.says),
            question: filled(self.asks),
        }
    }
}

const NUMBERS: &[&str] = &[
    "15", "20", "30", "45", "60", "75", "90", "120", "150", "240",
];
const PEOPLE: &[&str] = &[
    "Nadia Brandt",
    "Tomas Silva",
    "Ingrid Novak",
    "Pavel Haddad",
    "Leila Costa",
    "Marco Keller",
];

/// Facts with one value at a time.
pub(super) const FACTS: [Form; 10] = [
    Form {
        says: "The timeout of the {s} is {v} seconds",
        asks: "How long does the {s} wait before it gives up?",
        values: NUMBERS,
    },
    Form {
        says: "The owner of the {s} is {v}",
        asks: "Who is responsible for the {s}?",
        values: PEOPLE,
    },
    Form {
        says: "The {s} is deployed from the branch {v}",
        asks: "Which branch goes to production for the {s}?",
        values: &["main", "trunk", "release", "stable", "develop"],
    },
    Form {
        says: "The database behind the {s} is {v}",
        asks: "Where does the {s} keep its data?",
        values: &["PostgreSQL", "MySQL", "SQLite", "MongoDB", "DynamoDB"],
    },
    Form {
        says: "The {s} listens on port 8{v}",
        asks: "What port do I use to reach the {s}?",
        values: NUMBERS,
    },
    Form {
        says: "The backups of the {s} are kept for {v} days",
        asks: "How far back can we restore the {s}?",
        values: NUMBERS,
    },
    Form {
        says: "The on-call contact of the {s} is {v}",
        asks: "Who do I phone when the {s} is down at night?",
        values: PEOPLE,
    },
    Form {
        says: "The {s} is written in {v}",
        asks: "What programming language was the {s} made with?",
        values: &["Rust", "Go", "Kotlin", "Python", "TypeScript"],
    },
    Form {
        says: "The upload limit of the {s} is {v} MB",
        asks: "How large a file does the {s} take?",
        values: NUMBERS,
    },
    Form {
        says: "The {s} is hosted in {v}",
        asks: "In which place do the servers of the {s} stand?",
        values: &["Frankfurt", "Dublin", "Stockholm", "Paris", "Milan"],
    },
];

/// More of them, by which rules may be made.
pub(super) const MORE_FACTS: [Form; 10] = [
    Form {
        says: "The {s} renews its certificate every {v} days",
        asks: "How often is the certificate of the {s} replaced?",
        values: NUMBERS,
    },
    Form {
        says: "Support tickets about the {s} go to {v}",
        asks: "Who handles the tickets of the {s}?",
        values: PEOPLE,
    },
    Form {
        says: "The {s} retries a failed request {v} times",
        asks: "How many attempts does the {s} make?",
        values: NUMBERS,
    },
    Form {
        says: "Log files of the {s} end up in {v}",
        asks: "Where do I find what the {s} logged?",
        values: &["Loki", "Graylog", "Splunk", "CloudWatch", "Elasticsearch"],
    },
    Form {
        says: "{v} approves releases of the {s}",
        asks: "Who signs off a release of the {s}?",
        values: PEOPLE,
    },
    Form {
        says: "The {s} uses {v} for its queue",
        asks: "Which message broker does the {s} rely on?",
        values: &["RabbitMQ", "Kafka", "NATS", "Redis", "ActiveMQ"],
    },
    Form {
        says: "The nightly export of the {s} starts at {v}",
        asks: "At what time of day does the {s} export?",
        values: &["01:00", "02:30", "03:15", "04:00", "05:45"],
    },
    Form {
        says: "The cheapest plan of the {s} costs {v} euros",
        asks: "What is the lowest price of the {s}?",
        values: NUMBERS,
    },
    Form {
        says: "The {s} speaks {v} to its clients",
        asks: "Which protocol do clients of the {s} use?",
        values: &["REST", "gRPC", "GraphQL", "SOAP", "Thrift"],
    },
    Form {
        says: "Session tokens of the {s} expire after {v} minutes",
        asks: "How long does a login to the {s} last?",
        values: NUMBERS,
    },
];

/// More of them, held back: no rule is made by these.
pub(super) const HELD_BACK_FACTS: [Form; 10] = [
    Form {
        says: "The {s} keeps at most {v} connections open",
        asks: "How many connections may the {s} hold at once?",
        values: NUMBERS,
    },
    Form {
        says: "Invoices of the {s} are paid by {v}",
        asks: "Who settles the bills of the {s}?",
        values: PEOPLE,
    },
    Form {
        says: "The {s} runs on {v} since last month",
        asks: "What platform is the {s} on?",
        values: &["Kubernetes", "Nomad", "Fargate", "OpenShift", "Heroku"],
    },
    Form {
        says: "The review meeting of the {s} takes place on {v}",
        asks: "On which day is the {s} reviewed?",
        values: &["Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays"],
    },
    Form {
        says: "The {s} caches its answers for {v} minutes",
        asks: "How old can an answer of the {s} be?",
        values: NUMBERS,
    },
    Form {
        says: "Alerts from the {s} are sent to the channel {v}",
        asks: "Where do alarms of the {s} show up?",
        values: &["ops", "sre", "pager", "infra", "night-watch"],
    },
    Form {
        says: "The oldest Android that the {s} supports is {v}",
        asks: "Which phones are too old for the {s}?",
        values: NUMBERS,
    },
    Form {
        says: "{v} translates the {s}",
        asks: "Who does the translations of the {s}?",
        values: PEOPLE,
    },
    Form {
        says: "Passwords for the {s} need at least {v} characters",
        asks: "How long must a password of the {s} be?",
        values: NUMBERS,
    },
    Form {
        says: "The source of the {s} lives on {v}",
        asks: "Where is the code of the {s} hosted?",
        values: &["GitHub", "GitLab", "Bitbucket", "Codeberg", "Gitea"],
    },
];

/// Things that happened once.
pub(super) const EVENTS: [Form; 10] = [
    Form {
        says: "The {s} showed stale prices because its cache was keyed by day; the key has the \
               minute now",
        asks: "Why were old prices displayed by the {s}?",
        values: &[""],
    },
    Form {
        says: "Fixed the crash of the {s}: an empty upload had no content type, it is checked first \
               now",
        asks: "What made the {s} fall over, and what was done about it?",
        values: &[""],
    },
    Form {
        says: "The {s} lost messages while the broker restarted; it acknowledges after the commit now",
        asks: "How did messages get lost in the {s}?",
        values: &[""],
    },
    Form {
        says: "Users of the {s} were logged out at midnight, the session cookie used the server's \
               time zone",
        asks: "Why did people have to sign in again in the {s}?",
        values: &[""],
    },
    Form {
        says: "Migrated the {s} without downtime by writing to both tables for a week",
        asks: "How was the {s} moved over while it stayed up?",
        values: &[""],
    },
    Form {
        says: "The tests of the {s} were flaky since two of them shared a temporary folder",
        asks: "What was behind the unreliable tests of the {s}?",
        values: &[""],
    },
    Form {
        says: "Customers asked for a dark theme in the {s}, decided against it until the redesign",
        asks: "What did we decide about dark colours in the {s}?",
        values: &[""],
    },
    Form {
        says: "Memory of the {s} grew until it was killed: a closure kept every request alive",
        asks: "Where did the leak in the {s} come from?",
        values: &[""],
    },
    Form {
        says: "Cut the build time of the {s} in half by caching its dependencies as a layer",
        asks: "How did we make compiling the {s} quicker?",
        values: &[""],
    },
    Form {
        says: "The {s} sent every invoice twice after a retry, each now carries an idempotency key",
        asks: "What stopped duplicate bills from the {s}?",
        values: &[""],
    },
];
