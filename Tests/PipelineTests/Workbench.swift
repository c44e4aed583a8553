import Cipher
import Delivery
import Foundation
import GRDB
import Logging
import Nostr
import Notifications
import Registry
import Rules
import Synchronization

@testable import Pipeline

/// A pipeline on a registry in a temporary folder, with an outbox that a test can make refuse.
final class Workbench {
    struct DiskFull: Error {}

    final class Observed: PipelineObserver {
        let counts = Mutex<[PipelineStep: Int]>([:])

        func record(_ new: [PipelineStep: Int]) {
            counts.withLock { $0.merge(new, uniquingKeysWith: +) }
        }
    }

    static let time: Int64 = 1_773_446_400

    let identity: KeyPair
    let registry: Registry
    let observed = Observed()
    let intake = Intake()
    private(set) var kept: [Delivery] = []
    private(set) var causes: [EventID] = []
    var diskIsFull = false
    private var pipeline: Pipeline?
    private let rules: RuleBook
    private let defaultMode: Mode
    private let folder: URL

    init(rules: RuleBook? = nil, defaultMode: Mode = .wake) throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "pipeline-" + Hex.encode(SecureRandom.bytes(8))
        )
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        identity = try KeyPair(random: SecureRandom.bytes)
        registry = try Registry(
            store: RegistryStore(path: folder.appendingPathComponent("registry.sqlite").path),
            identity: identity,
            now: { Workbench.time * 1000 },
            check: { _ in }
        )
        self.rules = try rules ?? RuleBook.builtIn()
        self.defaultMode = defaultMode
        try restart()
    }

    /// A new pipeline on the same disk.
    func restart() throws {
        pipeline = try Pipeline(
            settings: PipelineSettings(rules: rules, defaultMode: defaultMode),
            registry: registry,
            intake: intake,
            accepted: causes,
            deliveryID: { "\($0.hex.prefix(8))-\($1.rawValue)" },
            keep: { [unowned self] deliveries, causes in
                guard !self.diskIsFull else { throw DiskFull() }
                self.kept += deliveries
                self.causes += causes
            },
            now: { Workbench.time * 1000 },
            observer: observed,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    /// Lets the disk refuse contact lists, or take them again.
    func lockRegistry(_ isLocked: Bool) throws {
        let database = try DatabaseQueue(path: folder.appendingPathComponent("registry.sqlite").path)
        let refusal = "CREATE TRIGGER refuse BEFORE INSERT ON contact_lists BEGIN SELECT RAISE(ABORT, 'full'); END"
        try database.write { try $0.execute(sql: isLocked ? refusal : "DROP TRIGGER refuse") }
    }

    /// What the pipeline says to events that come in together.
    @discardableResult
    func submit(_ events: [Event], from source: EventSource = .socket(authenticated: [])) -> [EventVerdict] {
        submit(events.map(\.json), from: source)
    }

    @discardableResult
    func submit(_ events: [[UInt8]], from source: EventSource = .socket(authenticated: [])) -> [EventVerdict] {
        let answers = Mutex<[EventVerdict]>([])
        let submission = Submission(events: events, source: source) { verdicts in answers.withLock { $0 = verdicts } }
        pipeline?.process(Arrivals(submissions: [submission]))
        return answers.withLock(\.self)
    }

    func count(_ step: PipelineStep) -> Int {
        observed.counts.withLock { $0[step] ?? 0 }
    }

    /// A registration event of `keys` for this router.
    func registration(
        of keys: KeyPair,
        _ content: String,
        device: String = "phone",
        secondsAgo: Int64 = 100
    ) throws -> Event {
        let key = try ConversationKey(secret: keys.secret, public: identity.publicKey)
        return try Event.signed(
            kind: .pushRegistration,
            createdAt: Self.time - secondsAgo,
            tags: [["d", identity.publicKey.hex + ":" + device]],
            content: NIP44.encrypt(content, key: key, nonce: SecureRandom.bytes(32)),
            by: keys
        )
    }

    /// A fresh account with one device that wants `signals`.
    func account(
        _ signals: [String] = ["dm", "mention", "reply", "reaction", "repost", "follow"],
        mode: String = "alert"
    ) throws
        -> KeyPair
    {
        let keys = try KeyPair(random: SecureRandom.bytes)
        let filters = signals.map { "\"\($0)\":true" }.joined(separator: ",")
        let content =
            "{\"token\":\"\(Hex.encode(SecureRandom.bytes(32)))\",\"platform\":\"ios\",\"mode\":\"\(mode)\",\"filters\":{\(filters)}}"
        _ = submit([try registration(of: keys, content)])
        return keys
    }

    func event(
        _ kind: Kind,
        _ content: String = "",
        tags: [[String]] = [],
        by keys: KeyPair,
        at time: Int64 = time
    ) throws -> Event {
        try Event.signed(kind: kind, createdAt: time, tags: tags, content: content, by: keys)
    }
}
