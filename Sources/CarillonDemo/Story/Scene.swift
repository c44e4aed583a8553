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

    /// What a notification says.
    struct Texts {
        let title: String
        let body: String
    }

    /// What happens, in ASCII, so that the columns behind it line up on every terminal.
    let caption: String
    let event: Event
    let consequence: Consequence
    /// The event it must refer to, with its text.
    var reference: Event?
    var places: [Place] = [.router]
    /// What it says to those who speak German.
    var german: Texts?

    var wakes: Bool {
        if case .pushes = consequence { true } else { false }
    }

    /// The same, with what it says in German; the body is what the event says where it is left out.
    func inGerman(_ title: String, _ body: String? = nil) -> Scene {
        var scene = self
        scene.german = Texts(title: title, body: body ?? event.content)
        return scene
    }

    /// The same, published elsewhere.
    func at(_ places: Place...) -> Scene {
        var scene = self
        scene.places = places
        return scene
    }
}
