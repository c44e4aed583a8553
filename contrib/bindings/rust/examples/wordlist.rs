//! A filter for Carillon: drops events that contain one of the operator's words.
//!
//!     filter_plugins:
//!       wordlist: {settings: {words: [casino, lottery]}}

use carillon_plugin::json::{parse, Value};
use carillon_plugin::{Filter, FilterCall, Host, Verdict};

struct WordlistFilter {
    words: Vec<String>,
}

impl Filter for WordlistFilter {
    const NAME: &'static str = "wordlist";

    fn create(config: &Value, _host: Host) -> Result<Self, String> {
        let list = config.get("words").and_then(Value::as_array).ok_or("words: expected a list of texts")?;
        let words: Option<Vec<String>> = list.iter().map(|word| word.as_str().map(str::to_lowercase)).collect();
        Ok(WordlistFilter { words: words.ok_or("words: expected texts only")? })
    }

    /// Events are verified, but their text is untrusted: any length, any character.
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
    id: "org.example.wordlist",
    version: env!("CARGO_PKG_VERSION"),
    transports: [],
    filters: [WordlistFilter],
}

/// Tests of the example: rewrite them when you change the filter.
#[cfg(test)]
mod tests {
    use super::*;
    use carillon_plugin::testing::{decide, Decision};

    const SETTINGS: &str = r#"{"words":["Casino"]}"#;

    #[test]
    fn an_event_with_a_word_is_dropped() {
        let dropped = Decision::Dropped("it has an unwanted word".into());
        assert_eq!(decide::<WordlistFilter>(SETTINGS, r#"{"content":"a CASINO near you"}"#), Ok(dropped));
        assert_eq!(decide::<WordlistFilter>(SETTINGS, r#"{"content":"hello"}"#), Ok(Decision::Passed));
    }

    #[test]
    fn what_is_no_event_is_left_to_the_operator() {
        assert_eq!(decide::<WordlistFilter>(SETTINGS, "{"), Ok(Decision::Undecided));
    }

    #[test]
    fn settings_are_checked() {
        assert_eq!(decide::<WordlistFilter>("{}", "{}"), Err("words: expected a list of texts".into()));
        assert_eq!(decide::<WordlistFilter>(r#"{"words":[1]}"#, "{}"), Err("words: expected texts only".into()));
    }
}
