//! A filter that drops events with one of the operator's words.
//!
//!     cargo build --release --example words
//!     echo '{"words":["casino"]}' > words.json
//!     carillon plugin check target/release/examples/libwords.so --block words=words.json

use carillon_plugin::json::{parse, Value};
use carillon_plugin::{Filter, FilterCall, Host, Verdict};

struct Words {
    words: Vec<String>,
}

impl Filter for Words {
    const NAME: &'static str = "words";

    fn create(config: &Value, _host: Host) -> Result<Self, String> {
        let list = config.get("words").and_then(Value::as_array).ok_or("words: expected a list of texts")?;
        let words: Option<Vec<String>> = list.iter().map(|word| word.as_str().map(str::to_lowercase)).collect();
        Ok(Words { words: words.ok_or("words: expected texts only")? })
    }

    fn decide(&self, call: &mut FilterCall<'_>) -> Result<Verdict, String> {
        let event = parse(&call.event()).map_err(|error| format!("the event: {error}"))?;
        let content = event.get("content").and_then(Value::as_str).unwrap_or("").to_lowercase();
        Ok(if self.words.iter().any(|word| content.contains(word)) {
            Verdict::Drop("it has an unwanted word".into())
        } else {
            Verdict::Pass
        })
    }
}

carillon_plugin::plugin! {
    id: "org.example.words-rust",
    version: env!("CARGO_PKG_VERSION"),
    transports: [],
    filters: [Words],
}
