//! Pagers for Carillon, over SNPP (RFC 1861): a transport that needs more than HTTP. It talks to the server over a
//! stream, sends several notifications for one pager in one connection, counts pages in its state, logs the count by a
//! timer, and returns it to clients that know the secret path.

use carillon_plugin::abi;
use carillon_plugin::json::Value;
use carillon_plugin::{
    Delivery, Host, InboundAnswer, InboundRequest, LogLevel, Mode, Notification, Outcome, OutcomeKind, Refusal,
    Registration, Reply, Stream, StreamHandler, StreamTarget, Ticket, Transport,
};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);
const COUNT: &str = "pages";

struct SNPPTransport {
    host: Host,
    server: String,
    port: u16,
    /// The path of the count below the inbound URL, after `/`. Empty: disabled.
    secret: String,
    pages: Arc<AtomicU64>,
}

impl Transport for SNPPTransport {
    const PLATFORM: &'static str = "pager";
    const DELIVERS_MANY: u32 = 20;
    const MANY_PER_TOKEN: bool = true;
    const RECEIVES: bool = true;
    const SHOWS: bool = true;
    const DESCRIPTION: &'static str = r#"{
      "version": 1,
      "name": "Pager",
      "block": "pager",
      "target": {"kind": "token", "pattern": "^[0-9]{4,15}$", "expected": "a pager's number"},
      "configuration": {
        "doc": "The SNPP server.",
        "schema": {
          "type": "object",
          "additionalProperties": false,
          "required": ["server"],
          "properties": {
            "server": {"description": "The host of the SNPP server.", "type": "string", "minLength": 1},
            "port": {"description": "The port of the SNPP server.", "type": "integer", "minimum": 1, "maximum": 65535, "default": 444},
            "secret": {"description": "The secret path below which clients can query the number of pages.", "type": "string"}
          }
        }
      },
      "rules": {"type": "object", "additionalProperties": false, "properties": {}},
      "cannot": ["actions", "subtitle", "category", "thread", "url", "data"],
      "sample": {"configuration": {"server": "snpp.example.com", "secret": "k3"}, "token": "5551234"}
    }"#;

    fn create(config: &Value, host: Host) -> Result<Self, String> {
        let server = config.get("server").and_then(Value::as_str).ok_or("server: expected the host of the SNPP server")?;
        let port = config.get("port").map_or(Some(444), Value::as_i64).and_then(|port| u16::try_from(port).ok());
        let port = port.filter(|port| *port > 0).ok_or("port: expected a number from 1 to 65535")?;
        let secret = config.get("secret").and_then(Value::as_str).unwrap_or_default();
        // The other services are in every router that has this one.
        host.require(abi::STREAMS)?;
        let kept = host.state(COUNT).and_then(|kept| String::from_utf8(kept).ok());
        let pages = Arc::new(AtomicU64::new(kept.and_then(|kept| kept.parse().ok()).unwrap_or(0)));
        let (own, count) = (host.clone(), pages.clone());
        let line = move || own.log(LogLevel::Info, &format!("{} pages so far", count.load(Ordering::Relaxed)));
        host.every(HOUR, line).map_err(|refusal| format!("could not start a timer: {refusal:?}"))?;
        Ok(SNPPTransport { host, server: server.to_owned(), port, secret: secret.to_owned(), pages })
    }

    fn validate(&self, registration: &Registration<'_>) -> Result<(), String> {
        let token = registration.token();
        let is_number = (4..=15).contains(&token.len()) && token.bytes().all(|byte| byte.is_ascii_digit());
        if is_number { Ok(()) } else { Err("the token must be a pager's number".into()) }
    }

    fn deliver(
        &self,
        ticket: Ticket,
        registration: &Registration<'_>,
        notification: &Notification<'_>,
    ) -> Result<(), Refusal> {
        let text = text(notification)?;
        self.page(&registration.token(), VecDeque::from([(ticket, text)]))
    }

    fn deliver_many(&self, deliveries: Vec<Delivery<'_>>) -> Result<(), Refusal> {
        let number = deliveries.first().map(|delivery| delivery.registration.token().into_owned());
        let pages: Result<VecDeque<_>, _> =
            deliveries.into_iter().map(|each| Ok((each.ticket, text(&each.notification)?))).collect();
        self.page(&number.unwrap_or_default(), pages?)
    }

    fn receive(&self, request: &InboundRequest<'_>, reply: Reply) -> Result<(), Refusal> {
        if self.secret.is_empty() || request.path().strip_prefix('/') != Some(&self.secret) {
            return Err(Refusal::Unsupported);
        }
        let pages = i64::try_from(self.pages.load(Ordering::Relaxed)).unwrap_or(i64::MAX);
        let answer = Value::object([("pages", pages.into())]);
        reply.send(InboundAnswer::new(200).header("content-type", "application/json").body(answer.to_string()));
        Ok(())
    }
}

impl SNPPTransport {
    fn page(&self, number: &str, pages: VecDeque<(Ticket, String)>) -> Result<(), Refusal> {
        let target = StreamTarget::new(&self.server, self.port).idle_timeout(Duration::from_secs(20));
        let number = number.to_owned();
        let (host, count) = (self.host.clone(), self.pages.clone());
        let talk = Conversation { host, count, number, pages, line: Vec::new(), next: Step::Greeting };
        self.host.open_stream(target, talk).map(drop)
    }
}

/// One line without control characters.
fn text(notification: &Notification<'_>) -> Result<String, Refusal> {
    if !matches!(notification.mode(), Mode::Wake | Mode::Nudge | Mode::Alert) {
        return Err(Refusal::Unsupported);
    }
    let (title, body) = (notification.title(), notification.body());
    let words = [title.as_ref(), body.as_ref()].join(" ");
    let line: String = words.chars().map(|each| if each.is_control() { ' ' } else { each }).take(200).collect();
    let line = line.trim();
    Ok(if line.is_empty() { notification.count().to_string() } else { line.to_owned() })
}

/// The step that the server's next line belongs to.
#[derive(Clone, Copy)]
enum Step {
    Greeting,
    Pager,
    Message,
    Send,
    Quit,
}

/// The pages of one pager over one stream. If the stream ends, the router retries the remaining ones.
struct Conversation {
    host: Host,
    count: Arc<AtomicU64>,
    number: String,
    pages: VecDeque<(Ticket, String)>,
    line: Vec<u8>,
    next: Step,
}

impl StreamHandler for Conversation {
    fn received(&mut self, stream: &Stream, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                b'\n' => {
                    let line = std::mem::take(&mut self.line);
                    if !self.answered(stream, &line) {
                        let _ = stream.close();
                        return;
                    }
                }
                _ if self.line.len() < 512 => self.line.push(*byte),
                _ => {}
            }
        }
    }

    fn closed(self: Box<Self>, failure: &str) {
        let reason = if failure.is_empty() { "closed" } else { failure };
        for (ticket, _) in self.pages {
            ticket.complete(Outcome::new(OutcomeKind::Retry, 0).reason(reason));
        }
    }
}

impl Conversation {
    /// Returns false if the conversation is over.
    fn answered(&mut self, stream: &Stream, line: &[u8]) -> bool {
        let code = std::str::from_utf8(line.get(..3).unwrap_or_default()).unwrap_or_default();
        let status: u32 = code.parse().unwrap_or(0);
        let is_good = (200..300).contains(&status);
        match (self.next, is_good) {
            (Step::Greeting, true) => self.say(stream, Step::Pager),
            (Step::Pager, true) => self.say(stream, Step::Message),
            (Step::Message, true) => self.say(stream, Step::Send),
            (Step::Send, true) => {
                let total = self.count.fetch_add(1, Ordering::Relaxed) + 1;
                // A page that is not counted is better than one that is sent twice.
                let _ = self.host.set_state(COUNT, total.to_string().as_bytes());
                self.end(Outcome::new(OutcomeKind::Delivered, status));
                self.say(stream, if self.pages.is_empty() { Step::Quit } else { Step::Pager })
            }
            // 550: unknown pager.
            (Step::Pager, false) if status == 550 => {
                while !self.pages.is_empty() {
                    self.end(Outcome::new(OutcomeKind::Gone, status));
                }
                self.say(stream, Step::Quit)
            }
            (Step::Message | Step::Send, false) if (500..600).contains(&status) => {
                self.end(Outcome::new(OutcomeKind::Rejected, status));
                self.say(stream, if self.pages.is_empty() { Step::Quit } else { Step::Pager })
            }
            _ => false,
        }
    }

    fn end(&mut self, outcome: Outcome) {
        if let Some((ticket, _)) = self.pages.pop_front() {
            ticket.complete(outcome);
        }
    }

    fn say(&mut self, stream: &Stream, step: Step) -> bool {
        let line = match (step, self.pages.front()) {
            (Step::Pager, _) => format!("PAGE {}\r\n", self.number),
            (Step::Message, Some((_, text))) => format!("MESS {text}\r\n"),
            (Step::Send, _) => "SEND\r\n".to_owned(),
            _ => "QUIT\r\n".to_owned(),
        };
        self.next = step;
        stream.write(line.as_bytes()).is_ok()
    }
}

carillon_plugin::plugin! {
    id: "org.example.snpp",
    version: env!("CARGO_PKG_VERSION"),
    transports: [SNPPTransport],
    filters: [],
}

#[cfg(test)]
mod tests {
    use super::*;
    use carillon_plugin::testing::{Answer, Incoming, Message, TransportBench};

    fn bench() -> TransportBench<SNPPTransport> {
        TransportBench::new(r#"{"server": "snpp.example", "secret": "k3"}"#).unwrap()
    }

    fn page(title: &str) -> Message { Message { token: "5551234".into(), title: title.into(), ..Message::default() } }

    /// Sends one response line after the other; returns the plugin's lines after each.
    fn talk(bench: &TransportBench<SNPPTransport>, lines: &[&str]) -> Vec<String> {
        let number = *bench.streams().keys().next().unwrap();
        bench.stream_opens(number);
        let mut said = Vec::new();
        let mut seen = 0;
        for line in lines {
            // A line may arrive in pieces.
            let (head, tail) = line.split_at(1);
            bench.stream_sends(number, head.as_bytes());
            bench.stream_sends(number, format!("{tail}\r\n").as_bytes());
            let sent = bench.streams()[&number].sent.clone();
            said.push(String::from_utf8_lossy(&sent[seen..]).trim_end().to_owned());
            seen = sent.len();
        }
        said
    }

    #[test]
    fn pages_go_out_over_one_stream() {
        let bench = bench();
        assert_eq!(bench.deliver_many(&[page("one\r\nSEND"), page("two")]), Ok(()));
        let said = talk(
            &bench,
            &["220 hello", "250 ok", "250 ok", "250 sent", "250 ok", "250 ok", "250 sent", "221 bye"],
        );
        assert_eq!(
            said,
            ["PAGE 5551234", "MESS one  SEND", "SEND", "PAGE 5551234", "MESS two", "SEND", "QUIT", ""]
        );
        let stream = bench.streams().into_values().next().unwrap();
        assert_eq!((stream.host.as_str(), stream.port, stream.is_closing), ("snpp.example", 444, true));
        let kinds: Vec<_> = bench.outcomes().into_iter().map(|(ticket, outcome)| (ticket, outcome.kind)).collect();
        assert_eq!(kinds, [(0, OutcomeKind::Delivered), (1, OutcomeKind::Delivered)]);
        assert_eq!(bench.state("pages").as_deref(), Some(&b"2"[..]));
    }

    #[test]
    fn the_server_decides() {
        let cases: [(&[&str], OutcomeKind); 4] = [
            (&["220 hello", "550 no such pager"], OutcomeKind::Gone),
            (&["220 hello", "250 ok", "554 too long"], OutcomeKind::Rejected),
            (&["421 too busy"], OutcomeKind::Retry),
            (&["220 hello", "421 gateway down"], OutcomeKind::Retry),
        ];
        for (lines, kind) in cases {
            let bench = bench();
            let delivery = bench.deliver(&page("x"), &Answer::default());
            assert_eq!((delivery.refusal, delivery.endings), (None, 0));
            talk(&bench, lines);
            bench.stream_ends(*bench.streams().keys().next().unwrap(), "");
            assert_eq!(bench.outcomes().into_iter().map(|each| each.1.kind).collect::<Vec<_>>(), [kind]);
        }
    }

    #[test]
    fn a_stream_that_fails_is_tried_again() {
        let bench = bench();
        bench.deliver(&page("x"), &Answer::default());
        bench.stream_ends(*bench.streams().keys().next().unwrap(), "refused");
        let outcome = bench.outcomes().remove(0).1;
        assert_eq!((outcome.kind, outcome.reason.as_str()), (OutcomeKind::Retry, "refused"));
    }

    #[test]
    fn the_count_is_logged_and_answered_to_who_knows_the_path() {
        let bench = bench();
        assert_eq!(bench.timers(), [HOUR]);
        bench.fire_timers();
        assert_eq!(bench.log(), ["0 pages so far"]);
        let ask = |path: &str| bench.receive(&Incoming { path: path.into(), ..Incoming::default() });
        assert_eq!(ask("/k3").unwrap().unwrap().body, b"{\"pages\":0}");
        assert_eq!(ask("/guess"), Err(Refusal::Unsupported));
    }
}
