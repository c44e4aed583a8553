//! A webhook transport for Carillon: POSTs every notification as JSON to the URL that the device's owner registered.

use carillon_plugin::json::Value;
use carillon_plugin::{Host, Mode, Notification, Outcome, Refusal, Registration, Request, Ticket, Transport};

struct WebhookTransport {
    host: Host,
}

impl Transport for WebhookTransport {
    const PLATFORM: &'static str = "webhook";
    /// Carillon uses it to check rules, registrations and samples: see `carillon/describe.schema.json`.
    const DESCRIPTION: &'static str = r#"{
      "version": 1,
      "name": "Webhook",
      "block": "webhook",
      "target": {"kind": "token", "pattern": "^https://", "expected": "an https:// URL"},
      "rules": {
        "type": "object",
        "additionalProperties": false,
        "properties": {
          "channel": {"description": "The channel in which the receiver shows it.", "type": "string", "minLength": 1}
        }
      },
      "limits": {"payload": [{"bytes": 65536}]},
      "cannot": ["actions", "subtitle", "category", "thread"],
      "sample": {"token": "https://hook.example.com/sample"}
    }"#;

    fn create(_config: &Value, host: Host) -> Result<Self, String> { Ok(WebhookTransport { host }) }

    fn validate(&self, registration: &Registration<'_>) -> Result<(), String> {
        let token = registration.token();
        if token.starts_with("https://") && token.len() > 8 {
            Ok(())
        } else {
            Err("the token must be an https:// URL".into())
        }
    }

    fn deliver(
        &self,
        ticket: Ticket,
        registration: &Registration<'_>,
        notification: &Notification<'_>,
    ) -> Result<(), Refusal> {
        if !matches!(notification.mode(), Mode::Wake | Mode::Nudge | Mode::Alert) {
            return Err(Refusal::Unsupported);
        }
        let mut body = Value::object([("count", notification.count().into())]);
        let texts = [
            ("id", notification.id()),
            ("signal", notification.signal()),
            ("title", notification.title()),
            ("body", notification.body()),
            ("url", notification.url()),
        ];
        for (name, text) in texts {
            if !text.is_empty() {
                body.push(name, text.as_ref());
            }
        }
        let request = Request::new("POST", registration.token())
            .untrusted_url()
            .header("content-type", "application/json")
            .body(body.to_string());
        self.host.http_request(request, move |response| ticket.complete(Outcome::of(&response)))
    }
}

carillon_plugin::plugin! {
    id: "org.example.webhook",
    version: env!("CARGO_PKG_VERSION"),
    transports: [WebhookTransport],
    filters: [],
}

/// Tests of the example: rewrite them when you change the plugin.
#[cfg(test)]
mod tests {
    use super::*;
    use carillon_plugin::testing::{Answer, Message, TransportBench};
    use carillon_plugin::{json, OutcomeKind};

    fn bench() -> TransportBench<WebhookTransport> { TransportBench::new("{}").unwrap() }

    #[test]
    fn a_notification_becomes_json() {
        let message = Message { title: "Say \"hello\"".into(), ..Message::default() };
        let delivery = bench().deliver(&message, &Answer::status(200));
        assert_eq!(delivery.requests.len(), 1);
        assert!(delivery.requests[0].is_untrusted_url);
        let body = json::parse(&delivery.requests[0].body).unwrap();
        assert_eq!(body.get("title").and_then(Value::as_str), Some("Say \"hello\""));
        assert_eq!(body.get("body"), None);
    }

    #[test]
    fn the_answer_decides() {
        use OutcomeKind::*;
        for (status, kind) in [(200, Delivered), (410, Gone), (503, Retry), (0, Retry), (400, Rejected)] {
            let delivery = bench().deliver(&Message::default(), &Answer::status(status));
            assert_eq!(delivery.outcome.map(|outcome| outcome.kind), Some(kind));
        }
    }

    #[test]
    fn what_cannot_be_sealed_is_not_sent() {
        let delivery = bench().deliver(&Message { mode: 2, ..Message::default() }, &Answer::status(200));
        assert_eq!((delivery.refusal, delivery.requests.len()), (Some(Refusal::Unsupported), 0));
    }

    #[test]
    fn other_targets_are_refused() {
        assert!(bench().validate(&Message { token: "ftp://x".into(), ..Message::default() }).is_err());
        assert_eq!(bench().validate(&Message::default()), Ok(()));
    }
}
