import Nostr

/// A story and the phones of its owner.
struct Act {
    /// The columns beside an event.
    enum Layout {
        /// What a phone with few details received, then what a phone with all details received.
        case pair(Phone, Phone)
        /// Where the event was published, and what the phone received.
        case place(Phone)
        /// What each phone received, one below the other.
        case list([Phone])
    }

    /// The columns of one row.
    struct Row {
        let middle: String
        let last: [String]
    }

    let story: Story
    /// Where profiles and the owner's notes are published.
    let home: Scene.Place
    let layout: Layout

    var phones: [Phone] {
        switch layout {
        case .pair(let first, let second): [first, second]
        case .place(let phone): [phone]
        case .list(let phones): phones
        }
    }

    /// A word for all phones together.
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

    /// The rows for a scene and its pushes.
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

/// An event and its expected consequence.
struct Scene {
    /// Where an event is published.
    enum Place: String {
        /// The router's own socket.
        case router
        /// The outside relay.
        case relay
    }

    enum Consequence {
        /// Every phone of the story gets a push with these texts, or with this signal.
        case pushes(title: String, body: String, signal: String)
        case silence
        /// Silence, and the router refuses the event.
        case refusal
    }

    /// The texts of a notification.
    struct Texts {
        let title: String
        let body: String
    }

    /// What happens, in ASCII, so that columns line up on every terminal.
    let caption: String
    let event: Event
    let consequence: Consequence
    /// The event that it must reference, with its text.
    var reference: Event?
    var places: [Place] = [.router]
    /// The texts in German.
    var german: Texts?

    var wakes: Bool {
        if case .pushes = consequence { true } else { false }
    }

    /// The same scene with texts in German. The body is the event's by default.
    func inGerman(_ title: String, _ body: String? = nil) -> Scene {
        var scene = self
        scene.german = Texts(title: title, body: body ?? event.content)
        return scene
    }

    /// The same scene, published elsewhere.
    func at(_ places: Place...) -> Scene {
        var scene = self
        scene.places = places
        return scene
    }
}
