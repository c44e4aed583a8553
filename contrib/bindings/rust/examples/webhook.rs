//! A webhook transport: POSTs every notification as JSON to the URL that the device's owner registered.
//!
//!     cargo build --release --example webhook
//!     carillon plugin check target/release/examples/libwebhook.so

use carillon_plugin::json::Value;
use carillon_plugin::{Host, Mode, Notification, Outcome, Refusal, Registration, Request, Ticket, Transport};

struct Webhook {
    host: Host,
}

impl Transport for Webhook {
    const PLATFORM: &'static str = "webhook";
    const DESCRIPTION: &'static str = r#"{
      "version": 1,
      "name": "Webhook",
      "block": "webhook",
      "target": {"kind": "token", "pattern": "^https://", "expected": "an https:// URL"},
      "rules": {
        "type": "object",
        "additionalProperties": false,
        "properties": {
          "channel": {"description": "Where the receiver shows it.", "type": "string", "minLength": 1}
        }
      },
      "limits": {"payload": [{"bytes": 65536}]},
      "cannot": ["actions", "subtitle", "category", "thread"],
      "sample": {"token": "https://hook.example.com/sample"}
    }"#;

    fn create(_config: &Value, host: Host) -> Result<Self, String> { Ok(Webhook { host }) }

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
    id: "org.example.webhook-rust",
    version: env!("CARGO_PKG_VERSION"),
    transports: [Webhook],
    filters: [],
}
