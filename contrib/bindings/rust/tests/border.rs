//! Tests of the boundary between the host and a plugin: panics, tickets and errors.

use carillon_plugin::json::Value;
use carillon_plugin::testing::{decide, Answer, Decision, Message, TransportBench};
use carillon_plugin::{
    Filter, FilterCall, Host, Mode, Notification, Outcome, OutcomeKind, Refusal, Registration, Request, Ticket, Transport,
    Verdict,
};
use std::sync::Mutex;

/// A transport whose behavior its configuration selects.
struct Fixture {
    host: Host,
    behaviour: String,
    kept: Mutex<Vec<Ticket>>,
}

impl Transport for Fixture {
    const PLATFORM: &'static str = "fixture";

    fn create(config: &Value, host: Host) -> Result<Self, String> {
        let behaviour = config.get("do").and_then(Value::as_str).ok_or("do: expected a text")?.to_owned();
        if behaviour == "panic-in-create" {
            panic!("as the test asks");
        }
        Ok(Fixture { host, behaviour, kept: Mutex::new(Vec::new()) })
    }

    fn validate(&self, registration: &Registration<'_>) -> Result<(), String> {
        if self.behaviour == "panic-in-validate" {
            panic!("as the test asks");
        }
        if registration.field("auth").as_deref() == Some("secret") { Ok(()) } else { Err("auth: expected".into()) }
    }

    fn deliver(
        &self,
        ticket: Ticket,
        registration: &Registration<'_>,
        notification: &Notification<'_>,
    ) -> Result<(), Refusal> {
        match self.behaviour.as_str() {
            "panic" => panic!("as the test asks"),
            "refuse" => return Err(Refusal::Invalid),
            "complete-and-refuse" => {
                ticket.complete(Outcome::new(OutcomeKind::Gone, 410));
                return Err(Refusal::Busy);
            }
            "complete-and-panic" => {
                ticket.complete(Outcome::new(OutcomeKind::Gone, 410));
                panic!("as the test asks");
            }
            "forget" => return Ok(()),
            "keep-and-refuse" => {
                self.kept.lock().unwrap().push(ticket);
                return Err(Refusal::Busy);
            }
            _ => {}
        }
        assert_eq!(notification.mode(), Mode::Alert);
        let request = Request::new("POST", registration.token()).untrusted_url().body(notification.title().into_owned());
        let panics = self.behaviour == "panic-in-answer";
        let result = self.host.http_request(request, move |response| {
            if panics {
                panic!("as the test asks");
            }
            ticket.complete(Outcome::of(&response));
        });
        if self.behaviour == "send-and-panic" {
            panic!("as the test asks");
        }
        result
    }
}

fn deliver(behaviour: &str, answer: Answer) -> (Option<Refusal>, Vec<OutcomeKind>) {
    let bench = TransportBench::<Fixture>::new(&format!("{{\"do\":\"{behaviour}\"}}")).unwrap();
    let delivery = bench.deliver(&Message { title: "Hello".into(), ..Message::default() }, &answer);
    assert!(delivery.endings <= 1);
    (delivery.refusal, delivery.outcome.into_iter().map(|outcome| outcome.kind).collect())
}

#[test]
fn a_delivery_ends_as_the_answer_says() {
    use OutcomeKind::*;
    for (status, kind) in [(200, Delivered), (410, Gone), (400, Rejected), (503, Retry), (429, Retry)] {
        assert_eq!(deliver("send", Answer::status(status)), (None, vec![kind]));
    }
    assert_eq!(deliver("send", Answer::failure("timeout")), (None, vec![Retry]));
    assert_eq!(deliver("refuse", Answer::status(200)), (Some(Refusal::Invalid), vec![]));
}

#[test]
fn what_was_sent_and_what_the_answer_asked_for() {
    let bench = TransportBench::<Fixture>::new("{\"do\":\"send\"}").unwrap();
    let mut answer = Answer::status(429);
    answer.headers = vec![("retry-after".into(), "120".into())];
    let delivery = bench.deliver(&Message { title: "é \"x\"".into(), ..Message::default() }, &answer);
    assert_eq!(delivery.requests.len(), 1);
    assert_eq!(delivery.requests[0].url, "https://push.example/device");
    assert_eq!(delivery.requests[0].body, "é \"x\"");
    assert!(delivery.requests[0].is_untrusted_url);
    assert_eq!(delivery.outcome.unwrap().retry_after_ms, 120_000);
}

#[test]
fn a_panic_is_a_failure_of_its_call() {
    assert_eq!(deliver("panic", Answer::status(200)), (Some(Refusal::Failed), vec![]));
    assert_eq!(deliver("panic-in-answer", Answer::status(200)), (None, vec![OutcomeKind::Retry]));
    assert_eq!(deliver("send-and-panic", Answer::status(200)), (None, vec![OutcomeKind::Delivered]));
    assert_eq!(deliver("complete-and-panic", Answer::status(200)), (None, vec![OutcomeKind::Gone]));
    assert!(TransportBench::<Fixture>::new("{\"do\":\"panic-in-create\"}").err().unwrap().contains("panicked"));
    let bench = TransportBench::<Fixture>::new("{\"do\":\"panic-in-validate\"}").unwrap();
    assert!(bench.validate(&Message::default()).err().unwrap().contains("panicked"));
}

#[test]
fn a_delivery_ends_once_whatever_the_plugin_does() {
    assert_eq!(deliver("complete-and-refuse", Answer::status(200)), (None, vec![OutcomeKind::Gone]));
    assert_eq!(deliver("forget", Answer::status(200)), (None, vec![OutcomeKind::Retry]));
    assert_eq!(deliver("keep-and-refuse", Answer::status(200)), (Some(Refusal::Busy), vec![]));
}

#[test]
fn a_busy_host_makes_a_busy_plugin() {
    let bench = TransportBench::<Fixture>::new("{\"do\":\"send\"}").unwrap();
    bench.set_busy(true);
    let delivery = bench.deliver(&Message::default(), &Answer::status(200));
    assert_eq!((delivery.refusal, delivery.endings), (Some(Refusal::Busy), 0));
}

#[test]
fn refusals_say_why() {
    assert_eq!(TransportBench::<Fixture>::new("{}").err().as_deref(), Some("do: expected a text"));
    for config in ["", "[]", "{", "\u{0}"] {
        assert_eq!(TransportBench::<Fixture>::new(config).err().as_deref(), Some("expected a JSON object"));
    }
    let bench = TransportBench::<Fixture>::new("{\"do\":\"send\"}").unwrap();
    assert_eq!(bench.validate(&Message::default()).err().as_deref(), Some("auth: expected"));
    let fields = vec![("auth".to_owned(), "secret".to_owned())];
    assert_eq!(bench.validate(&Message { fields, ..Message::default() }), Ok(()));
}

struct Short;

impl Filter for Short {
    const NAME: &'static str = "short";

    fn create(_config: &Value, _host: Host) -> Result<Self, String> { Ok(Short) }

    fn decide(&self, call: &mut FilterCall<'_>) -> Result<Verdict, String> {
        match call.event().len() {
            0 => Err("there is no event".into()),
            1 => panic!("as the test asks"),
            2..=9 => Ok(Verdict::Drop(format!("tö\n{}", "x".repeat(100)).into())),
            _ => Ok(Verdict::Pass),
        }
    }
}

#[test]
fn filters_decide() {
    assert_eq!(decide::<Short>("{}", "0123456789"), Ok(Decision::Passed));
    let reason = format!("t??{}", "x".repeat(57));
    assert_eq!(decide::<Short>("{}", "01"), Ok(Decision::Dropped(reason)));
    assert_eq!(decide::<Short>("{}", ""), Ok(Decision::Undecided));
    assert_eq!(decide::<Short>("{}", "0"), Ok(Decision::Undecided));
    assert!(decide::<Short>("[]", "").is_err());
}
