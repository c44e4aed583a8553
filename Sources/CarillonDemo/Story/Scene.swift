import Nostr

/// An event, and what must come of it.
struct Scene {
    enum Consequence {
        /// Both phones are woken, with these texts and this signal.
        case pushes(title: String, body: String, signal: String)
        case silence
        /// Silence, and the router tells the sender that it does not take the event.
        case refusal
    }

    /// What happens, in ASCII, so that the columns behind it line up on every terminal.
    let caption: String
    let event: Event
    let consequence: Consequence
    /// The event it must refer to, with its text.
    var reference: Event?

    /// How many pushes must come.
    var pushCount: Int {
        if case .pushes = consequence { 2 } else { 0 }
    }
}
