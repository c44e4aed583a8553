import Core
import Delivery
import Foundation
import GRDB
import Nostr
import Push
import Registry
import TimeTestSupport

@testable import Pipeline

extension Workbench {
    /// Returns a bench with the pacing that DESIGN names.
    static func paced(
        _ policy: PacingPolicy = PacingPolicy(),
        defaultMode: Mode = .wake,
        feed: IndexFeed? = nil,
        capacity: (any DeliveryCapacity)? = nil,
        dependencies: PipelineDependencies = PipelineDependencies()
    ) throws -> Workbench {
        try Workbench(
            defaultMode: defaultMode,
            pacing: policy,
            feed: feed,
            capacity: capacity,
            dependencies: dependencies
        )
    }

    /// Lets time pass; devices that become due get their pushes at the right time.
    func pass(_ seconds: Double) {
        let end = clock.now() + .seconds(seconds)
        while let timeout = pipeline?.timeout, clock.now() + timeout <= end {
            clock.advance(by: max(.milliseconds(1), timeout))
            pipeline?.process(Arrivals())
        }
        clock.advance(by: max(.zero, end - clock.now()))
    }

    /// Completes the oldest delivery, as the courier would. With `isTold` the pipeline learns of it; otherwise only the
    /// disk does.
    func end(isDelivered: Bool = true, isTold: Bool = true) throws {
        let first = stored.removeFirst()
        let end = CompletedPush(
            device: first.delivery.device,
            delivery: first.delivery.id,
            counts: isDelivered,
            moment: clock.now()
        )
        var changes = OutboxChanges()
        changes.removals = [first.key]
        changes.ends = [end]
        try outbox?.apply(changes)
        if isTold { pipeline?.process(Arrivals(ends: [end])) }
    }

    /// Makes the oldest delivery stop blocking others, as the courier would.
    func stopBlocking() throws {
        guard let first = stored.first?.delivery else { return }
        var changes = OutboxChanges()
        changes.ends = [
            CompletedPush(
                device: first.device,
                delivery: first.id,
                counts: false,
                stopsBlocking: true,
                moment: clock.now()
            )
        ]
        try outbox?.apply(changes)
        pipeline?.process(Arrivals(ends: changes.ends))
    }

    func note(to keys: KeyPair, _ content: String = "x") throws -> Event {
        try event(
            .textNote,
            content,
            tags: [["p", keys.publicKey.hex]],
            by: try Self.keys(),
            at: clock.now().seconds
        )
    }

    /// Returns the number of rows on disk for paces and for held events.
    func rows() throws -> (paces: Int, held: Int) {
        let database = try DatabaseQueue(path: outboxPath)
        return try database.read { db in
            (
                try Int.fetchOne(db, sql: "SELECT count(*) FROM outbox_pace") ?? -1,
                try Int.fetchOne(db, sql: "SELECT count(*) FROM outbox_held") ?? -1
            )
        }
    }

    /// Whether the tables of held events contain these bytes.
    func isHeldOnDisk(_ text: String) throws -> Bool {
        let database = try DatabaseQueue(path: outboxPath)
        let blobs = try database.read {
            try Data.fetchAll($0, sql: "SELECT notification FROM outbox_held_member")
        }
        return blobs.contains { $0.range(of: Data(text.utf8)) != nil }
    }
}

extension PacingPolicy {
    init(
        cooldown: Duration = .seconds(60),
        window: Duration = .seconds(30),
        dailyCap: Int = 100,
        platforms: [String: PlatformDefaults] = [:],
        leastCooldown: Duration = .zero,
        maxDailyCap: Int = 100
    ) {
        self.init()
        self.cooldown = cooldown
        self.window = window
        self.dailyCap = dailyCap
        self.platforms = platforms
        self.leastCooldown = leastCooldown
        self.maxDailyCap = maxDailyCap
    }
}

extension PacingPolicy.PlatformDefaults {
    init(backgroundPerHour: Int?) {
        self.init()
        self.backgroundPerHour = backgroundPerHour
    }
}
