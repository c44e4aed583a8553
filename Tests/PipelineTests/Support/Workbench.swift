import Cipher
import Core
import Delivery
import Foundation
import GRDB
import Logging
import Nostr
import PlatformTestSupport
import Push
import Registry
import Rules
import Synchronization
import TimeTestSupport

@testable import Pipeline

/// A pipeline on a registry in a temporary folder, with an outbox that a test can make fail.
final class Workbench {
    struct DiskFull: Error {}

    final class Observed: PipelineObserver {
        let counts = Mutex<[PipelineStep: Int]>([:])
        let filtered = Mutex<[String: Int]>([:])
        let leftOut = Mutex<[RuleValue: Int]>([:])
        private let traced = Mutex<[TraceStep]>([])

        var steps: [TraceStep] { traced.withLock(\.self) }

        func record(_ new: [PipelineStep: Int]) {
            counts.withLock { $0.merge(new, uniquingKeysWith: +) }
        }

        func filtered(_ new: [String: Int]) {
            filtered.withLock { $0.merge(new, uniquingKeysWith: +) }
        }

        func leftOut(_ new: [RuleValue: Int]) {
            leftOut.withLock { $0.merge(new, uniquingKeysWith: +) }
        }

        func trace(_ steps: [TraceStep], at time: Timestamp) {
            traced.withLock { $0 += steps }
        }
    }

    /// The bench's start time, in seconds since 1970.
    static let time: Int64 = 1_773_446_400
    /// The same moment.
    static let start = Timestamp(seconds: time)

    let identity: KeyPair
    let registry: Registry
    let observed = Observed()
    let intake = Intake()
    let clock = ManualClock(start)
    private(set) var kept: [Delivery] = []
    private(set) var causes: [EventID] = []
    var diskIsFull = false
    private(set) var pipeline: Pipeline?
    private var settings: PipelineSettings
    private var dependencies: PipelineDependencies
    private let folder: URL
    private let capacity: (any DeliveryCapacity)?
    /// The accounts of a partition, if the pipeline is that of one.
    private let feed: IndexFeed?
    /// Where a bench with pacing keeps everything.
    private(set) var outbox: Outbox?
    /// The stored deliveries, in order.
    var stored: [StoredDelivery] = []

    init(
        rules: RuleBook? = nil,
        filters: [EventFilter] = [],
        defaultMode: Mode = .wake,
        encryptingPlatforms: Set<String> = [],
        showingPlatforms: Set<String> = [],
        contextCapacity: Int = 10_000,
        keepsContext: Bool = false,
        usesContext: Bool = true,
        pacing: PacingPolicy? = nil,
        threads: Int = 2,
        feed: IndexFeed? = nil,
        capacity: (any DeliveryCapacity)? = nil,
        dependencies: PipelineDependencies = PipelineDependencies()
    ) throws {
        self.feed = feed
        self.capacity = capacity
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "pipeline-" + Hex.encode(SecureRandom.bytes(8))
        )
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        identity = try KeyPair(random: SecureRandom.bytes)
        registry = try Registry(
            store: RegistryStore(path: folder.appendingPathComponent("registry.sqlite").path),
            identity: identity,
            now: clock.now,
            check: { _ in }
        )
        settings = PipelineSettings(
            rules: try rules ?? RuleBook.builtIn(),
            filters: filters,
            defaultMode: defaultMode,
            encryptingPlatforms: encryptingPlatforms,
            showingPlatforms: showingPlatforms,
            contextCapacity: contextCapacity,
            contextPath: keepsContext ? folder.appendingPathComponent("context.sqlite").path : nil,
            usesContext: usesContext,
            pacing: pacing?.adding(silentPushesPerHour: PlatformCatalog.builtIn.silentPushesPerHour)
        )
        self.dependencies = dependencies
        self.dependencies.observer = observed
        self.dependencies.now = clock.now
        self.dependencies.threads = threads
        try restart()
    }

    /// A new pipeline on the same disk, perhaps with other rules or filters.
    func restart(rules: RuleBook? = nil, filters: [EventFilter]? = nil, usesContext: Bool? = nil) throws {
        if let rules { settings.rules = rules }
        if let usesContext { settings.usesContext = usesContext }
        if let filters { settings.filters = filters }
        if settings.pacing != nil { try openOutbox() }
        pipeline = try Pipeline(
            settings: settings,
            registry: registry,
            feed: feed,
            intake: intake,
            storage: PipelineStorage(accepted: causes, paceStore: outbox, capacity: capacity) {
                [weak self] deliveries, causes, pace in
                guard let self, !self.diskIsFull else { throw DiskFull() }
                try self.outbox?.insert(deliveries, causes: causes.map(\.bytes.array), pace: pace) { self.stored += $0 }
                self.kept += deliveries
                self.causes += causes
            },
            dependencies: dependencies
        )
    }

    private func openOutbox() throws {
        pipeline = nil
        outbox = nil
        outbox = try Outbox(path: outboxPath)
    }

    /// The raw database of names and notes, including deleted content.
    var contextOnDisk: Data {
        ["", "-wal"].reduce(into: Data()) { data, end in
            let file = folder.appendingPathComponent("context.sqlite\(end)")
            data += (try? Data(contentsOf: file)) ?? Data()
        }
    }

    var outboxPath: String { folder.appendingPathComponent("outbox.sqlite").path }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    /// Makes writes of contact lists, or to another `table`, fail or succeed again.
    func lockRegistry(_ isLocked: Bool, table: String = "contact_lists") throws {
        let database = try DatabaseQueue(path: folder.appendingPathComponent("registry.sqlite").path)
        let refusal = "CREATE TRIGGER refuse BEFORE INSERT ON \(table) BEGIN SELECT RAISE(ABORT, 'full'); END"
        try database.write { try $0.execute(sql: isLocked ? refusal : "DROP TRIGGER refuse") }
    }

    /// Submits events together; returns the pipeline's verdicts.
    @discardableResult
    func submit(_ events: [Event], from source: EventSource = .socket(authenticated: [])) -> [EventDecision] {
        submit(events.map(\.json), from: source)
    }

    @discardableResult
    func submit(_ events: [[UInt8]], from source: EventSource = .socket(authenticated: [])) -> [EventDecision] {
        let answers = Mutex<[EventDecision]>([])
        let submission = Submission(events: events, source: source) { decisions in answers.withLock { $0 = decisions } }
        pipeline?.process(Arrivals(submissions: [submission]))
        return answers.withLock(\.self)
    }

    /// Submits several groups of events at the same time; each gets an answer in the end.
    func arrive(_ submissions: [(events: [Event], source: EventSource)], ended: [Int] = []) -> [Answer] {
        let answers = submissions.map { _ in Answer() }
        let submissions = zip(submissions, answers).map { submission, answer in
            Submission(events: submission.events.map(\.json), source: submission.source, completion: answer.take)
        }
        pipeline?.process(Arrivals(submissions: submissions, endedFetches: ended))
        return answers
    }

    /// Makes the pipeline process items that entered its intake without a call of the test.
    func process() {
        if let arrivals = intake.next(within: .zero) { pipeline?.process(arrivals) }
    }

    /// Returns the trace of an event.
    func trace(of event: EventID) -> [TraceStep] {
        observed.steps.filter { $0.event == event }
    }

    func count(_ step: PipelineStep) -> Int {
        observed.counts.withLock { $0[step] ?? 0 }
    }
}
