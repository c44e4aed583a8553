//! Tests of timers, state, streams, batches and requests from outside: each ends exactly once, and no memory leaks.

use carillon_plugin::json::Value;
use carillon_plugin::testing::{Incoming, Message, TransportBench};
use carillon_plugin::{
    Delivery, Host, InboundAnswer, InboundRequest, Notification, Outcome, OutcomeKind, Refusal, Registration, Reply, Stream,
    StreamHandler, StreamTarget, Ticket, Transport,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The host of the latest instance, stored by its `create` for the test that made the bench.
static LATEST: Mutex<Option<Host>> = Mutex::new(None);
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

struct Fixture(String);

impl Transport for Fixture {
    const PLATFORM: &'static str = "fixture";
    const DELIVERS_MANY: u32 = 10;
    const RECEIVES: bool = true;

    fn create(config: &Value, host: Host) -> Result<Self, String> {
        *LATEST.lock().unwrap() = Some(host);
        Ok(Fixture(config.get("do").and_then(Value::as_str).unwrap_or_default().to_owned()))
    }

    fn deliver(&self, _: Ticket, _: &Registration<'_>, _: &Notification<'_>) -> Result<(), Refusal> {
        Err(Refusal::Invalid)
    }

    fn deliver_many(&self, deliveries: Vec<Delivery<'_>>) -> Result<(), Refusal> {
        if self.0 == "panic" {
            panic!("as the test asks");
        }
        let first = deliveries.into_iter().next().unwrap();
        assert_eq!(first.notification.title(), "first");
        if self.0 == "end-one" {
            first.ticket.complete(Outcome::new(OutcomeKind::Delivered, 200));
        }
        if self.0 == "forget" { Ok(()) } else { Err(Refusal::Busy) }
    }

    fn receive(&self, request: &InboundRequest<'_>, reply: Reply) -> Result<(), Refusal> {
        match request.path().as_ref() {
            "/answer" => {
                let name = request.header("x-name").unwrap_or_default();
                reply.send(InboundAnswer::new(201).header("x-method", &request.method()).body(format!(
                    "{name} {} {}",
                    request.query(),
                    request.body().len()
                )));
                Ok(())
            }
            "/answer-and-refuse" => {
                reply.send(InboundAnswer::new(204));
                Err(Refusal::Failed)
            }
            "/forget" => Ok(()),
            "/panic" => panic!("as the test asks"),
            _ => Err(Refusal::Unsupported),
        }
    }
}

fn with_bench(behaviour: &str, test: impl FnOnce(&TransportBench<Fixture>, Host)) -> Host {
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let bench = TransportBench::new(&format!("{{\"do\":\"{behaviour}\"}}")).unwrap();
    let host = LATEST.lock().unwrap().take().unwrap();
    test(&bench, host.clone());
    host
}

#[test]
fn a_timer_holds_what_it_needs_as_long_as_it_may_fire() {
    let held = Arc::new(AtomicUsize::new(0));
    let counting = || {
        let held = held.clone();
        move || {
            held.fetch_add(1, Ordering::Relaxed);
        }
    };
    with_bench("", |bench, host| {
        host.after(Duration::from_secs(5), counting()).unwrap();
        let repeating = host.every(Duration::from_secs(60), counting()).unwrap();
        host.every(Duration::from_secs(70), || panic!("as the test asks")).unwrap();
        assert_eq!(bench.timers(), [5, 60, 70].map(Duration::from_secs));
        bench.fire_timers();
        assert_eq!((held.load(Ordering::Relaxed), Arc::strong_count(&held)), (2, 2));
        bench.fire_timers();
        assert_eq!(held.load(Ordering::Relaxed), 3);
        repeating.cancel();
        assert_eq!((bench.timers().len(), Arc::strong_count(&held)), (1, 1));
        assert_eq!(host.every(Duration::from_millis(9), counting()).err(), Some(Refusal::Invalid));
        host.after(Duration::from_secs(1), counting()).unwrap();
        assert_eq!(Arc::strong_count(&held), 2);
    });
    // The instance is gone, although the timer has not fired.
    assert_eq!(Arc::strong_count(&held), 1);
}

#[test]
fn what_is_kept_is_found_again() {
    with_bench("", |bench, host| {
        assert_eq!(host.state("cursor"), None);
        assert_eq!(host.set_state("cursor", b"\xff7"), Ok(()));
        assert_eq!(host.state("cursor").as_deref(), Some(&b"\xff7"[..]));
        assert_eq!(bench.state("cursor").as_deref(), Some(&b"\xff7"[..]));
        assert_eq!(host.set_state("cursor", b""), Ok(()));
        assert_eq!(host.state("cursor"), None);
        assert_eq!(host.set_state("", b"x"), Err(Refusal::Invalid));
    });
}

#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

struct Listener(Arc<Heard>);

impl StreamHandler for Listener {
    fn opened(&mut self, stream: &Stream) {
        self.0 .0.lock().unwrap().push("opened".into());
        stream.write(b"HELO\r\n").unwrap();
    }

    fn received(&mut self, stream: &Stream, bytes: &[u8]) {
        match bytes {
            b"tls" => stream.start_tls().unwrap(),
            b"panic" => panic!("as the test asks"),
            _ => self.0 .0.lock().unwrap().push(format!("received {}", bytes.len())),
        }
    }

    fn closed(self: Box<Self>, failure: &str) { self.0 .0.lock().unwrap().push(format!("closed {failure}")); }
}

#[test]
fn a_stream_tells_what_happens_and_ends_once() {
    let heard = Arc::new(Heard::default());
    let host = with_bench("", |bench, host| {
        let target = || StreamTarget::new("mx.example", 25).untrusted_host();
        let stream = host.open_stream(target(), Listener(heard.clone())).unwrap();
        let number = *bench.streams().keys().next().unwrap();
        bench.stream_opens(number);
        bench.stream_sends(number, b"220");
        bench.stream_sends(number, b"tls");
        let played = bench.streams().remove(&number).unwrap();
        assert_eq!((played.sent.as_slice(), played.is_tls, played.is_untrusted_host), (&b"HELO\r\n"[..], true, true));
        assert_eq!(stream.start_tls(), Err(Refusal::Invalid));
        bench.stream_sends(number, b"panic");
        assert!(bench.streams()[&number].is_closing);
        assert_eq!(stream.write(b"x"), Err(Refusal::Invalid));
        bench.stream_ends(number, "");
        assert_eq!(*heard.0.lock().unwrap(), ["opened", "received 3", "closed "]);
        // A stream that was refused gets no events, and an open one ends with the instance.
        assert!(host.open_stream(StreamTarget::new("mx.example", 0), Listener(heard.clone())).is_err());
        host.open_stream(target(), Listener(heard.clone())).unwrap();
    });
    assert_eq!(heard.0.lock().unwrap().last().unwrap(), "closed shut-down");
    assert_eq!((heard.0.lock().unwrap().len(), Arc::strong_count(&heard)), (4, 1));
    // Clones of the host outlive the instance, and do nothing.
    assert_eq!(host.open_stream(StreamTarget::new("x", 1), Listener(heard.clone())).err(), Some(Refusal::Busy));
    assert_eq!(host.after(Duration::ZERO, || ()).err(), Some(Refusal::Busy));
    assert_eq!((host.state("x"), host.set_state("x", b"1"), host.inbound_url()), (None, Err(Refusal::Busy), None));
}

#[test]
fn deliveries_of_a_bundle_are_taken_together() {
    let messages = ["first", "second"].map(|title| Message { title: title.into(), ..Message::default() });
    let cases: [(&str, Result<(), Refusal>, &[OutcomeKind]); 4] = [
        ("refuse", Err(Refusal::Busy), &[]),
        ("panic", Err(Refusal::Failed), &[]),
        ("forget", Ok(()), &[OutcomeKind::Retry, OutcomeKind::Retry]),
        // One has ended: all count as accepted, and the other is retried.
        ("end-one", Ok(()), &[OutcomeKind::Delivered, OutcomeKind::Retry]),
    ];
    for (behaviour, result, kinds) in cases {
        with_bench(behaviour, |bench, _| {
            assert_eq!(bench.deliver_many(&messages), result, "{behaviour}");
            let mut outcomes = bench.outcomes();
            outcomes.sort_by_key(|(ticket, _)| *ticket);
            assert_eq!(outcomes.into_iter().map(|each| each.1.kind).collect::<Vec<_>>(), kinds, "{behaviour}");
        });
    }
}

#[test]
fn a_request_from_outside_is_answered_once() {
    with_bench("", |bench, host| {
        assert_eq!(host.inbound_url(), None);
        bench.set_inbound_url("https://push.example/plugins/fixture/default");
        assert_eq!(host.inbound_url().as_deref(), Some("https://push.example/plugins/fixture/default"));
        let ask = |path: &str| {
            bench.receive(&Incoming {
                method: "POST".into(),
                path: path.into(),
                query: "a=1".into(),
                headers: vec![("x-name".into(), "é".into())],
                body: vec![0; 3],
            })
        };
        let answer = ask("/answer").unwrap().unwrap();
        assert_eq!((answer.status, answer.body.as_slice()), (201, "é a=1 3".as_bytes()));
        assert_eq!(answer.headers, [("x-method".to_owned(), "POST".to_owned())]);
        assert_eq!(ask("/answer-and-refuse").unwrap().unwrap().status, 204);
        assert_eq!(ask("/forget").unwrap().unwrap().status, 500);
        assert_eq!(ask("/panic"), Err(Refusal::Failed));
        assert_eq!(ask("/other"), Err(Refusal::Unsupported));
    });
}
