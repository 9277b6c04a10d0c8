//! The layer's rules, for its clients: the draft wants them published, the expiry above all.

use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::keep::ServerErrors;
use super::key::Syntax;
use super::layer::IdempotencyLayer;
use super::pattern;
use super::problem::Problem;
use super::settings::{Need, Settings};
use crate::policy::{OnBusy, Ttl};

/// What a layer asks of its clients and promises them, as data. See [`IdempotencyLayer::policy`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PublishedPolicy {
    /// The request header.
    pub header: String,
    /// Whether a request without it is refused.
    pub required: bool,
    /// The methods that it applies to.
    pub methods: Vec<String>,
    /// What a key looks like.
    pub key: PublishedKey,
    /// For how long a response is kept after the first request was processed, unless the handler says otherwise; written in
    /// seconds.
    #[serde(rename = "expires_after_seconds", serialize_with = "seconds_or_ever")]
    pub expires_after: Option<Duration>,
    /// What two requests with one key must have in common.
    pub fingerprint: String,
    /// For how long a retry waits while the first request is being processed, before it is refused; written in seconds.
    #[serde(rename = "waits_seconds", serialize_with = "seconds")]
    pub waits: Duration,
    /// What becomes of responses with a status of 500 or more: `stored`, `released` (a retry runs again) or `held`.
    pub server_errors: &'static str,
    /// The header that marks a response as given again.
    pub replay_marker: String,
    /// What else the layer answers.
    pub problems: Vec<PublishedProblem>,
}

/// What a key looks like.
///
/// ```
/// use idempotent_runtime::Idempotency;
/// use idempotent_runtime::http::IdempotencyLayer;
///
/// # fn main() -> Result<(), idempotent_runtime::Error> {
/// let builder = IdempotencyLayer::builder(&Idempotency::memory()).unscoped().strict();
/// let key = builder.key_length(16, 64).key_characters("a-z0-9").build()?.policy().key;
/// assert_eq!((key.shortest, key.longest, key.characters.as_deref()), (16, 64, Some("a-z0-9")));
/// assert_eq!(key.pattern, r#"^"(?:[0-9a-z]){16,64}"(?:;.*)?$"#);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PublishedKey {
    /// `structured-field-string`, or `structured-field-string or bare`.
    pub syntax: &'static str,
    /// The fewest characters.
    pub shortest: usize,
    /// The most characters.
    pub longest: usize,
    /// The characters, as ranges; all of printable ASCII where it is absent.
    pub characters: Option<String>,
    /// What the field looks like as it is sent, with the quotes around the key: a regular expression (ECMA-262).
    pub pattern: String,
}

/// One problem.
///
/// ```
/// use idempotent_runtime::Idempotency;
/// use idempotent_runtime::http::IdempotencyLayer;
///
/// # fn main() -> Result<(), idempotent_runtime::Error> {
/// let builder = IdempotencyLayer::builder(&Idempotency::memory()).unscoped();
/// let layer = builder.documentation("https://api.example.com/idempotency").build()?;
/// let problems = layer.policy().problems;
/// assert!(problems.iter().any(|problem| problem.r#type == "https://api.example.com/idempotency#in-flight"
///     && problem.status == 409
///     && problem.title == "A request is outstanding for this Idempotency-Key"));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PublishedProblem {
    /// Its `type`.
    pub r#type: String,
    /// Its status.
    pub status: u16,
    /// Its title.
    pub title: &'static str,
}

impl IdempotencyLayer {
    /// The layer's rules as data, to be served to clients.
    ///
    /// ```
    /// use std::time::Duration;
    /// use idempotent_runtime::Idempotency;
    /// use idempotent_runtime::http::IdempotencyLayer;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let layer = IdempotencyLayer::builder(&Idempotency::memory()).unscoped().ttl(Duration::from_hours(48)).build()?;
    /// let policy = layer.policy();
    /// assert_eq!(policy.expires_after, Some(Duration::from_hours(48)));
    /// assert_eq!(serde_json::to_value(&policy)?["expires_after_seconds"], 172_800);
    /// println!("{}", serde_json::to_string_pretty(&policy)?);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn policy(&self) -> PublishedPolicy {
        PublishedPolicy::of(self.settings())
    }

    /// The layer's rules as a fragment of an OpenAPI 3.1 document, in JSON: `components` with a parameter
    /// `IdempotencyKey`, a header `IdempotentReplayed` and a response for each status that the layer answers with.
    ///
    /// ```
    /// use idempotent_runtime::Idempotency;
    /// use idempotent_runtime::http::IdempotencyLayer;
    ///
    /// # fn main() -> Result<(), idempotent_runtime::Error> {
    /// let layer = IdempotencyLayer::builder(&Idempotency::memory()).unscoped().required().build()?;
    /// assert!(layer.openapi().contains(r#""$ref":"#));
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn openapi(&self) -> String {
        openapi(&self.policy()).to_string()
    }
}

impl PublishedPolicy {
    fn of(settings: &Settings) -> Self {
        let waits = match settings.policy.on_busy {
            OnBusy::Reject => Duration::ZERO,
            OnBusy::Wait(patience) => patience,
        };
        Self {
            header: canonical(settings.header.as_str()),
            required: settings.need == Need::Required,
            methods: settings.methods.iter().map(ToString::to_string).collect(),
            key: PublishedKey {
                syntax: match settings.keys.syntax {
                    Syntax::Strict => "structured-field-string",
                    Syntax::Lenient => "structured-field-string or bare",
                },
                shortest: settings.keys.shortest,
                longest: settings.keys.longest,
                characters: settings.keys.characters.class.clone(),
                pattern: pattern::of(&settings.keys),
            },
            expires_after: match settings.policy.ttl {
                Ttl::For(ttl) => Some(ttl),
                Ttl::Forever | Ttl::PerCall => None,
            },
            fingerprint: settings.fingerprint.to_string(),
            waits,
            server_errors: match settings.server_errors {
                ServerErrors::Store => "stored",
                ServerErrors::Release => "released",
                ServerErrors::Hold => "held",
            },
            replay_marker: canonical(settings.marker.as_str()),
            problems: Problem::ALL.map(|problem| PublishedProblem::of(settings, problem)).into(),
        }
    }

    fn describe(&self) -> String {
        let expiry = self.expires_after.map_or_else(
            || "Responses are kept for good.".to_owned(),
            |kept| format!("Responses are kept for {} seconds; after that the key is new.", in_seconds(kept)),
        );
        let PublishedKey { shortest, longest, .. } = self.key;
        format!(
            "Names one operation; send the same key with every retry. A Structured Field String: a key of {shortest} to \
             {longest} characters in double quotes, `\"…\"`. Compared: {}. {expiry}",
            self.fingerprint
        )
    }
}

impl PublishedProblem {
    fn of(settings: &Settings, problem: Problem) -> Self {
        Self {
            r#type: settings.problems.type_of(problem),
            status: settings.problems.status_of(problem).as_u16(),
            title: problem.title(),
        }
    }
}

/// As a number of seconds: a whole one wherever it is one.
fn in_seconds(time: Duration) -> serde_json::Number {
    let decimal = || serde_json::Number::from_f64(time.as_secs_f64());
    let decimal = (time.subsec_nanos() > 0).then(decimal).flatten();
    decimal.unwrap_or_else(|| time.as_secs().into())
}

fn seconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    in_seconds(*time).serialize(serializer)
}

#[expect(clippy::ref_option, reason = "that is how serde hands a field over")]
fn seconds_or_ever<S: Serializer>(time: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(in_seconds).serialize(serializer)
}

/// `idempotency-key` as people write it.
fn canonical(name: &str) -> String {
    let word =
        |word: &str| word.get(..1).map(str::to_uppercase).unwrap_or_default() + word.get(1..).unwrap_or_default();
    name.split('-').map(word).collect::<Vec<_>>().join("-")
}

fn openapi(policy: &PublishedPolicy) -> Value {
    let mut responses = serde_json::Map::new();
    // In the order of the problems themselves.
    for (published, problem) in policy.problems.iter().zip(Problem::ALL) {
        let name = format!("Idempotency{}", published.status);
        let response = responses.entry(name).or_insert_with(|| {
            json!({
                "description": "",
                "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/IdempotencyProblem"}}},
            })
        });
        let described = response["description"].as_str().unwrap_or_default();
        let separator = if described.is_empty() { "" } else { "; " };
        response["description"] = format!("{described}{separator}{}", published.title).into();
        if problem.is_passing() {
            response["headers"] = json!({"Retry-After": {"schema": {"type": "integer"}}});
        }
    }
    let types: Vec<_> = policy.problems.iter().map(|problem| &problem.r#type).collect();
    json!({"components": {
        "parameters": {"IdempotencyKey": {
            "in": "header",
            "name": policy.header,
            "required": policy.required,
            "schema": {"type": "string", "pattern": policy.key.pattern},
            "description": policy.describe(),
        }},
        "headers": {"IdempotentReplayed": {
            "description": format!("`{}: true` marks a response that is given again.", policy.replay_marker),
            "schema": {"type": "string", "enum": ["true"]},
        }},
        "schemas": {"IdempotencyProblem": {
            "type": "object",
            "required": ["type", "title", "status"],
            "properties": {
                "type": {"type": "string", "format": "uri-reference", "enum": types},
                "title": {"type": "string"},
                "status": {"type": "integer"},
                "detail": {"type": "string"},
            },
        }},
        "responses": responses,
    }})
}
