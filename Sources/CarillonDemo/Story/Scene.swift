import Nostr

/// An event, and what must come of it.
struct Scene {
    /// Where an event is published.
    enum Place: String {
        /// The router's own socket.
        case router
        /// The outside relay.
        case relay
    }

    enum Consequence {
        /// Every phone of the story is woken, with these texts or this signal.
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
    var places: [Place] = [.router]

    var wakes: Bool {
        if case .pushes = consequence { true } else { false }
    }

    /// The same, published elsewhere.
    func at(_ places: Place...) -> Scene {
        var scene = self
        scene.places = places
        return scene
    }
}
