import CarillonLab
import Cipher
import Nostr

/// Plays the story: registers both phones, publishes each event, and shows what arrived beside it.
struct Performance {
    private var relay: RelayClient
    private let lab: LabClient
    private let screen: Screen
    private let showsPayloads: Bool
    /// The last push already judged.
    private var seen: Int64 = 0
    private var arrived = 0

    init(relay: RelayClient, lab: LabClient, screen: Screen, showsPayloads: Bool) {
        self.relay = relay
        self.lab = lab
        self.screen = screen
        self.showsPayloads = showsPayloads
    }

    /// Plays it all. `server` is the lab's UnifiedPush server. Throws ``DemoError`` at the first thing that goes wrong.
    mutating func run(unifiedPush server: String?) async throws {
        guard let server else { throw DemoError("the lab was started without a UnifiedPush server") }
        seen = try await lab.pushes(after: 0).last?.sequence ?? 0
        let story = try Story()
        let receiver = WebPushReceiver(topic: "up" + Hex.encode(SecureRandom.bytes(6)))
        try await lab.declare(receiver)
        let judge = Judge(iPhone: .iPhone(), unifiedPush: try .unifiedPush(server: server, receiver: receiver))

        try await register([judge.iPhone, judge.unifiedPush], of: story.owner)
        for event in story.background { try await accept(event, "a profile or note") }

        screen.heading("Events that concern \(story.owner.name), and what reached her phones")
        screen.columns(judge.unifiedPush.name, judge.iPhone.name)
        for scene in story.loud {
            _ = try await publish(scene)
            let pushes = try await pushes(scene.pushCount)
            try show(scene, pushes, judge, of: story)
        }
        try await end(story, judge)
        screen.success("\(arrived) of \(story.pushCount) pushes arrived, nothing else did.")
    }

    private mutating func register(_ phones: [Phone], of owner: Person) async throws {
        let router = try await relay.router()
        screen.heading("Two phones of \(owner.name) register with the router")
        for phone in phones {
            try await accept(try phone.registration(by: owner, with: router), "the registration of the \(phone.name)")
            screen.text("\(phone.name): \(phone.introduction)")
        }
    }

    /// The silent events, then one whose pushes must come: the router keeps the order, so whatever the silent ones had
    /// caused would be there before them.
    private mutating func end(_ story: Story, _ judge: Judge) async throws {
        var answers: [RelayClient.Answer] = []
        for scene in story.silent { answers.append(try await publish(scene)) }
        _ = try await publish(story.closing)
        let last = try await pushes(story.closing.pushCount)

        screen.heading("Events that must wake nobody, and one more that proves that nothing was still to come")
        let mark: Screen.Mark = judge.complaints(about: story.closing, last).isEmpty ? .good : .none
        for (scene, answer) in zip(story.silent, answers) {
            let remark = answer.message.isEmpty ? [] : ["the router says: \(answer.message)"]
            screen.row(mark, kind: scene.event.kind.rawValue, caption: scene.caption, wake: "-", alert: ["-"] + remark)
        }
        try show(story.closing, last, judge, of: story)
    }

    private mutating func accept(_ event: Event, _ what: String) async throws {
        let answer = try await relay.publish(event)
        guard answer.isAccepted else { throw DemoError("the router refuses \(what): \(answer.message)") }
    }

    private mutating func publish(_ scene: Scene) async throws -> RelayClient.Answer {
        let answer = try await relay.publish(scene.event)
        if case .refusal = scene.consequence {
            guard !answer.isAccepted else { throw DemoError("the router takes an event with \(scene.caption)") }
        } else if !answer.isAccepted {
            throw DemoError("the router refuses '\(scene.caption)': \(answer.message)")
        }
        return answer
    }

    private mutating func pushes(_ count: Int) async throws -> [Push] {
        let pushes = try await lab.pushes(after: seen, atLeast: count)
        seen = pushes.last?.sequence ?? seen
        return pushes
    }

    private mutating func show(_ scene: Scene, _ pushes: [Push], _ judge: Judge, of story: Story) throws {
        let complaints = judge.complaints(about: scene, pushes)
        screen.row(
            complaints.isEmpty ? .good : .bad,
            kind: scene.event.kind.rawValue,
            caption: scene.caption,
            wake: pushes.first { $0.target == judge.unifiedPush.target }?.shown.joined() ?? "nothing",
            alert: pushes.first { $0.target == judge.iPhone.target }?.shown ?? ["nothing"]
        )
        if showsPayloads {
            for phone in [judge.unifiedPush, judge.iPhone] {
                for push in pushes where push.target == phone.target {
                    screen.detail("\(phone.name) got \(push.payload.prettyPrinted)")
                }
            }
        }
        guard complaints.isEmpty else {
            let reasons = complaints.map { "\n    - \($0)" }.joined()
            throw DemoError("'\(scene.caption)', after \(arrived) of \(story.pushCount) pushes:\(reasons)")
        }
        arrived += pushes.count
    }
}
