import CarillonLab
import Nostr

/// Plays the stories: registers the phones, publishes each event, and shows it next to its pushes.
struct Performance {
    private var router: RelayClient
    private var relay: RelayClient
    private let screen: Screen
    private let lab: LabClient
    private let showsPayloads: Bool
    /// The last push that was checked.
    private var seen: Int64 = 0
    private var arrived = 0
    private var expected = 0
    private var played: [Act] = []

    /// `router` is the router's own socket, `relay` the outside relay.
    init(router: RelayClient, relay: RelayClient, lab: LabClient, screen: Screen, showsPayloads: Bool) {
        self.router = router
        self.relay = relay
        self.lab = lab
        self.screen = screen
        self.showsPayloads = showsPayloads
    }

    /// Plays all stories. `server` is the lab's UnifiedPush server; `invitation` lets a phone register by NIP-46.
    /// Throws ``DemoError`` for the first error.
    ///
    /// A story is written after its phones have registered: older events cause no pushes.
    mutating func run(unifiedPush server: String?, invitation: BunkerURL) async throws {
        guard let server else { throw DemoError("the lab was started without a UnifiedPush server") }
        seen = try await lab.pushes(after: 0).last?.sequence ?? 0
        let receiver = WebPushReceiver.fresh()
        try await lab.declare(receiver)

        let olivia = try Person("olivia")
        let unifiedPush = try Phone.unifiedPush(server: server, receiver: receiver)
        let iPhone = Phone.iPhone("iPhone")
        try await register([unifiedPush, iPhone], "Two phones", of: olivia)
        try await play(Act(story: try .atTheRouter(around: olivia), home: .router, layout: .pair(unifiedPush, iPhone)))

        let peggy = try Person("peggy")
        let another = Phone.iPhone("iPhone of \(peggy.name)")
        try await register(another, of: peggy, by: invitation)
        try await play(Act(story: try .atARelay(around: peggy), home: .relay, layout: .place(another)))

        let wendy = try Person("wendy")
        let devices = [try Phone.android(), try await browser(), Phone.discreetIPhone()]
        try await register(devices, "Three devices", of: wendy)
        try await play(Act(story: try .onManyDevices(around: wendy), home: .router, layout: .list(devices)))
        conclude()
        screen.success("\(arrived) of \(expected) pushes arrived, and no others.")
    }

    private func browser() async throws -> Phone {
        let receiver = WebPushReceiver.fresh()
        return try .browser(endpoint: try await lab.subscribe(receiver), receiver: receiver)
    }

    /// Shows the checks that every push passed.
    private func conclude() {
        screen.heading("Readable for push services: alerts to an iPhone; no name, text, key or id of other pushes")
        for act in played {
            for phone in act.phones {
                screen.step(phone.name, phone.service.rawValue, "\(act.story.wakingCount) \(phone.secrecy)")
            }
        }
    }

    private mutating func play(_ act: Act) async throws {
        expected += act.pushCount
        for event in act.story.background { try require(try await publish(event, at: act.home), "a profile or note") }
        let columns = act.columns
        screen.heading("Events that concern \(act.story.owner.name), and what reached her \(act.phonesName)")
        screen.columns(columns.middle, columns.last)
        for scene in act.story.loud {
            _ = try await publish(scene)
            try show(scene, try await pushes(act.phones.count), act)
        }
        try await end(act)
    }

    /// Plays the silent events, then one that must cause pushes. The router keeps the order, so pushes of the silent
    /// events would arrive before them.
    private mutating func end(_ act: Act) async throws {
        var remarks: [[String]] = []
        for scene in act.story.silent { remarks.append(try await publish(scene)) }
        let closing = act.story.closing
        _ = try await publish(closing)
        let last = try await pushes(act.phones.count)

        screen.heading("Events that must not send a push, and a last one that shows that no push was pending")
        let mark: Screen.Mark = act.judge.complaints(about: closing, last).isEmpty ? .good : .none
        for (scene, remarks) in zip(act.story.silent, remarks) { row(mark, scene, [], act, remarks) }
        try show(closing, last, act)
        played.append(act)
    }

    /// Publishes the event at the scene's places. Returns their remarks.
    private mutating func publish(_ scene: Scene) async throws -> [String] {
        var remarks: [String] = []
        for place in scene.places {
            let answer = try await publish(scene.event, at: place)
            if case .refusal = scene.consequence {
                guard !answer.isAccepted else { throw DemoError("the \(place) took an event with \(scene.caption)") }
            } else if !answer.isAccepted {
                throw DemoError("the \(place) refuses '\(scene.caption)': \(answer.message)")
            }
            if !answer.message.isEmpty { remarks.append("message of the \(place): \(answer.message)") }
        }
        return remarks
    }

    private mutating func publish(_ event: Event, at place: Scene.Place) async throws -> RelayClient.Answer {
        switch place {
        case .router: try await router.publish(event)
        case .relay: try await relay.publish(event)
        }
    }

    private mutating func pushes(_ count: Int) async throws -> [Push] {
        let pushes = try await lab.pushes(after: seen, atLeast: count)
        seen = pushes.last?.sequence ?? seen
        return pushes
    }

    private mutating func show(_ scene: Scene, _ pushes: [Push], _ act: Act) throws {
        let complaints = act.judge.complaints(about: scene, pushes)
        row(complaints.isEmpty ? .good : .bad, scene, pushes, act)
        if showsPayloads {
            for phone in act.phones {
                for push in pushes where push.target == phone.target {
                    screen.detail("\(phone.name) got \((phone.reads(push) ?? push.payload).prettyPrinted)")
                }
            }
        }
        guard complaints.isEmpty else {
            let reasons = complaints.map { "\n    - \($0)" }.joined()
            throw DemoError("'\(scene.caption)', after \(arrived) of \(expected) pushes:\(reasons)")
        }
        arrived += pushes.count
    }

    private func row(_ mark: Screen.Mark, _ scene: Scene, _ pushes: [Push], _ act: Act, _ remarks: [String] = []) {
        var rows = act.rows(scene, pushes)
        let first = rows.removeFirst()
        screen.row(
            mark,
            kind: scene.event.kind.rawValue,
            caption: scene.caption,
            middle: first.middle,
            last: first.last + remarks
        )
        for row in rows { screen.row(middle: row.middle, last: row.last) }
    }

    /// Publishes the registrations of the owner's phones at the router's socket. `name` describes all phones together.
    private mutating func register(_ phones: [Phone], _ name: String, of owner: Person) async throws {
        let key = try await router.advertisement().pubkey
        screen.heading("\(name) of \(owner.name) register with the router")
        for phone in phones {
            let answer = try await router.publish(try phone.registration(by: owner, with: key))
            try require(answer, "the registration of the \(phone.name)")
            screen.text("\(phone.name): \(phone.introduction)")
        }
    }

    /// Registers a phone by NIP-46 at the outside relay. It finds the router there and never connects to it.
    private mutating func register(_ phone: Phone, of owner: Person, by invitation: BunkerURL) async throws {
        screen.heading("A phone of \(owner.name) registers at an outside relay, by NIP-46")
        screen.text("\(phone.name): \(phone.introduction)")

        let key = invitation.signer
        let advertisement = try await relay.advertisement(of: key)
        guard let meetingPoint = invitation.relays.first, advertisement.values(of: "nip46_relay").contains(meetingPoint)
        else { throw DemoError("the router's advertisement does not name the relay as one for NIP-46") }
        screen.step("the router's kind 10067", "found at the relay; it lists this relay for NIP-46")

        var session = try await RemoteSession(
            with: key,
            at: try await RelayClient(url: meetingPoint, name: "the relay")
        )
        let connected = try await session.request("connect", [key.hex] + (invitation.secret.map { [$0] } ?? []))
        screen.step("connect", connected, "with the secret of a bunker:// URL")
        let answer = try await session.request("get_public_key")
        guard answer == key.hex else { throw DemoError("get_public_key: expected the router's key, found \(answer)") }
        screen.step("get_public_key", "\(answer.prefix(8))...", "the key that signed the kind 10067")
        let registration = try phone.registration(by: owner, with: key)
        let registered = try await session.request("register", [String(decoding: registration.json, as: UTF8.self)])
        screen.step("register", registered, "a kind 10062, which relays never see")
    }

    private func require(_ answer: RelayClient.Answer, _ what: String) throws {
        guard answer.isAccepted else { throw DemoError("\(what) is refused: \(answer.message)") }
    }
}

/// A story and the phones of its owner.
struct Act {
    /// The columns next to an event.
    enum Layout {
        /// The push to a phone with few details, then to a phone with all details.
        case pair(Phone, Phone)
        /// The place of publication, and the phone's push.
        case place(Phone)
        /// Each phone's push, one below the other.
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

    /// A name for all phones together.
    var phonesName: String {
        switch layout {
        case .pair: "phones"
        case .place: "phone"
        case .list: "devices"
        }
    }

    var judge: PushChecker { PushChecker(phones: phones, identities: story.identities) }

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
        /// No push, and the router refuses the event.
        case refusal
    }

    /// The texts of a notification.
    struct Texts {
        let title: String
        let body: String
    }

    /// The event's caption in ASCII, so that columns line up on every terminal.
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

    /// The same scene with texts in German. Default body: the event's.
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
