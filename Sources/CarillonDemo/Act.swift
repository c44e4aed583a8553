import Nostr

/// A story, and the phones that show what reaches its owner.
struct Act {
    /// What stands beside an event.
    enum Layout {
        /// What reached a phone that learns little, and then one that shows what the push says.
        case pair(Phone, Phone)
        /// Where the event was published, and what reached the phone.
        case place(Phone)
        /// What reached each phone, one below the other.
        case list([Phone])
    }

    /// What stands beside an event in one row.
    struct Row {
        let middle: String
        let last: [String]
    }

    let story: Story
    /// Where names and the owner's notes are published.
    let home: Scene.Place
    let layout: Layout

    var phones: [Phone] {
        switch layout {
        case .pair(let first, let second): [first, second]
        case .place(let phone): [phone]
        case .list(let phones): phones
        }
    }

    /// What the phones are together.
    var phonesName: String {
        switch layout {
        case .pair: "phones"
        case .place: "phone"
        case .list: "devices"
        }
    }

    var judge: Judge { Judge(phones: phones, identities: story.identities) }

    var pushCount: Int { story.wakingCount * phones.count }

    /// The names of the middle and the last column.
    var columns: (middle: String, last: String) {
        switch layout {
        case .pair(let first, let second): (first.name, second.name)
        case .place(let phone): ("published at", phone.name)
        case .list: ("device", "what it shows")
        }
    }

    /// What to show of a scene and its pushes.
    func rows(_ scene: Scene, _ pushes: [Push]) -> [Row] {
        func shown(_ phone: Phone) -> [String] {
            pushes.first { $0.target == phone.target }.map(phone.shows) ?? [scene.wakes ? "nothing" : "-"]
        }
        switch layout {
        case .pair(let first, let second): return [Row(middle: shown(first).joined(), last: shown(second))]
        case .place(let phone):
            return [Row(middle: scene.places.map(\.rawValue).joined(separator: " and "), last: shown(phone))]
        case .list(let phones):
            guard scene.wakes else { return [Row(middle: "-", last: ["-"])] }
            return phones.map { Row(middle: $0.name, last: shown($0)) }
        }
    }
}

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
