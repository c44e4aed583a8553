import Cipher
import Console
import Core
import DeliveryTestSupport
import Foundation
import Logging
import Nostr
import Observability
import Pipeline
import Push
import Registry
import Storage
import Synchronization
import Testing
import TimeTestSupport

@testable import CarillonRouter
@testable import Delivery
@testable import Operations
@testable import RouterConfiguration

@Suite final class DeviceOperationsTests {
    /// Push services that respond as a test configures.
    private final class FakeTestPushes: TrialServices {
        let sent = Mutex<[(Push.Notification, DeviceAddress)]>([])
        /// The outcomes in the order of the pushes; the last one is also that of all later pushes.
        let outcomes: [Outcome]

        init(_ outcomes: Outcome...) {
            self.outcomes = outcomes.isEmpty ? [Outcome(.delivered, status: 200, reason: "")] : outcomes
        }

        func seals(_ platform: String) -> Bool { platform == "web" }

        func send(
            _ notification: Push.Notification,
            id: DeliveryID,
            to address: DeviceAddress
        ) async throws(OperationError) -> TrialReply {
            sent.withLock { sent in
                sent.append((notification, address))
                return TrialReply(outcomes[min(sent.count, outcomes.count) - 1])
            }
        }
    }

    private static let noon = Timestamp(seconds: 1_773_446_400)
    private static let token = String(repeating: "ab", count: 32)
    private let folder: URL
    private var configuration: Configuration
    private let identity: KeyPair
    private let registry: Registry
    private let alice: KeyPair
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "operations-" + Hex.encode(SecureRandom.bytes(8))
        )
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let path = folder.appendingPathComponent("store").path
        configuration = Configuration(keyFile: folder.appendingPathComponent("key").path, storePath: path)
        identity = try IdentityFile(path: configuration.identity.keyFile).create(random: SecureRandom.bytes)
        registry = try Registry(
            store: RegistryStore(path: path),
            identity: identity,
            now: { Self.noon },
            check: { _ in }
        )
        alice = try KeyPair(random: SecureRandom.bytes)
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    /// Registers a new device of Alice and returns its number.
    private func register(_ further: String = "", device: String = "phone") throws -> Int64 {
        let content =
            "{\"platform\":\"ios\",\"token\":\"\(Self.token)\",\"shared\":true,\"filters\":{\"reply\":true}\(further)}"
        let key = try ConversationKey(secret: alice.secret, public: identity.publicKey)
        let event = try Event.signed(
            kind: .pushRegistration,
            createdAt: Self.noon.seconds,
            tags: [["d", identity.publicKey.hex + ":" + device]],
            content: NIP44.encrypt(content, key: key, nonce: SecureRandom.bytes(32)),
            by: alice
        )
        guard case .registered(let device) = try registry.apply(event) else {
            throw OperationError.invalid("expected a registration")
        }
        return device.rawValue
    }

    private func operations(_ sender: any TrialServices = FakeTestPushes()) -> DeviceOperations {
        DeviceOperations(reader(), services: sender)
    }

    private func eventOperations() -> EventOperations {
        EventOperations(reader())
    }

    private func reader() -> DeviceReader {
        DeviceReader(
            registry: registry,
            files: OperatorFiles(configuration: configuration),
            configuration: { [configuration] in configuration },
            deliveryID: Self.deliveryID,
            now: { Self.noon }
        )
    }

    private static func delivery(_ event: EventID, _ device: Int64) -> DeliveryID {
        "\(event.hex.prefix(14))-\(device)"
    }

    private static func deliveryID(_ event: EventID, _ device: DeviceID) -> DeliveryID {
        delivery(event, device.rawValue)
    }

    private func trace(_ steps: [TraceStep] = [], _ reports: [DeliveryReport] = []) {
        let store = TraceStore(path: configuration.store.tracePath, now: { Self.noon }, logger: logger)
        if !steps.isEmpty { store.trace(steps, at: Self.noon) }
        if !reports.isEmpty { store.deliveriesReported(reports) }
        store.close()
    }

    private func report(
        _ kind: DeliveryReport.Kind,
        of device: Int64,
        status: UInt32,
        reason: String = ""
    )
        -> DeliveryReport
    {
        DeliveryReport(
            delivery: "d",
            device: DeviceID(rawValue: device),
            queue: QueueName(platform: "ios", app: "default"),
            kind: kind,
            status: status,
            reason: reason,
            attempt: 1
        )
    }

    @Test func devicesAreListedWithPushResultsAndWithoutTokens() throws {
        let device = try register()
        let other = try register(device: "tablet")
        trace(
            [],
            [report(.delivered, of: device, status: 200), report(.retry, of: device, status: 503, reason: "busy")]
        )
        let list = try operations().list(account: NIP19.npub(alice.publicKey))
        #expect(list.devices.map(\.device) == [device, other] && list.next == nil)
        #expect(list.devices[0].lastSuccess?.status == 200 && list.devices[0].lastError?.reason == "busy")
        #expect(list.devices[1].lastSuccess == nil && list.devices[1].name == "tablet")
        #expect(list.text.contains("LAST ERROR") && list.text.contains("retry (503 busy)"))
        for text in [list.text, list.json, try operations().show(device).text] {
            #expect(!text.contains(Self.token) && text.contains("phone"))
        }
        #expect(try operations().list(account: identity.publicKey.hex).text == "no devices")
    }

    @Test func devicePreferencesAndTheirEffectAreShown() throws {
        let quiet = #","quiet":{"start":"01:00","end":"02:30","tz":"UTC+9","dm_bypass_quiet":true}"#
        let batch = #","locale":"de-AT","batch":{"cooldown_seconds":10,"daily_cap":40}"#
        let filters = #","filter_plugins":{"mutes":false,"noise":false,"other":true}"#
        let device = try register(quiet + batch + filters)
        let plain = try register(device: "tablet")
        configuration.defaults.pacing.leastCooldown = .seconds(30)
        var mutes = Configuration.Filter(name: "mutes", line: 1)
        mutes.availability = .always
        configuration.filters = [mutes, Configuration.Filter(name: "noise", line: 2)]
        let text = try operations().show(device).text
        for line in [
            "quiet         01:00 to 02:30 (UTC+9), but direct messages come through",
            "pace          cooldown 30 s, the operator's bound (requested: cooldown 10 s)",
            "              window 30 s, the operator's default; no effect with that cooldown",
            "              40 pushes per day, as requested",
            "filters       mutes on for every device, though the device requested it off",
            "              noise off, as requested", "              other off: requested, but not in the configuration",
            "language      de-AT",
        ] { #expect(text.contains("\n" + line + "\n")) }
        let other = try operations().show(plain)
        #expect(other.text.contains("quiet         never\npace          cooldown 60 s, the operator's default"))
        #expect(other.text.contains("mutes on, the operator's default") && !other.text.contains("language"))
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        for overview in [try operations().show(device), other] {
            #expect(try decoder.decode(DeviceOverview.self, from: Data(overview.json.utf8)) == overview)
        }
        #expect(try operations().show(device).json.contains(#""cooldown_seconds":{"in_force":30,"requested":10}"#))
    }

    @Test func deviceShowsItsQueueIsPaused() throws {
        let device = try register()
        let store = TraceStore(path: configuration.store.tracePath, now: { Self.noon }, logger: logger)
        let queue = QueueName(platform: "ios", app: "default")
        store.queuePaused(QueuePause(queue: queue, until: Self.noon + .minutes(1), reason: "InvalidProviderToken"))
        store.flush()
        let shown = try operations().show(device)
        #expect(shown.text.contains("refuses the router's credentials (InvalidProviderToken)"))
        #expect(try operations().list().text.contains("paused"))
        store.queueResumed(queue)
        store.close()
        #expect(try operations().show(device).queuePause == nil)
        #expect(try !operations().list().text.contains("paused"))
    }

    @Test func silenceForAllRecipientsIsExplained() throws {
        _ = try register()
        let event = EventID(Bytes32(words: (1, 2, 3, 4)))
        trace([TraceStep(step: .expired, event: event)])
        let explanation = try eventOperations().explain(event.hex, recipient: alice.publicKey.hex)
        #expect(explanation.isKnown && explanation.steps.map(\.step) == ["expired"])
        #expect(explanation.text.contains("apply to all recipients"))
        #expect(!explanation.text.contains("p tag") && !explanation.text.contains("Without --recipient"))
        let unknown = try eventOperations().explain(alice.publicKey.hex, recipient: alice.publicKey.hex)
        #expect(unknown.text.contains("before the recipient's first device was registered, at 2026-03-14 00:00:00 UTC"))
    }

    private static func unknown(_ device: Int) -> OperationError {
        .unknown(Sentence("unknown-device", ["device": "\(device)"], "there is no device \(device)"))
    }

    @Test func invalidArgumentIsReported() throws {
        #expect(
            throws: OperationError.invalid(
                Sentence("key", ["member": "account"], "account: expected 64 lowercase hex digits or npub1…")
            )
        ) {
            try operations().list(account: "alice")
        }
        #expect(throws: Self.unknown(99)) { try operations().show(99) }
        #expect(throws: OperationError.self) { try eventOperations().explain("note1nonsense") }
        #expect(throws: OperationError.self) { try eventOperations().explain(alice.publicKey.hex, recipient: "x") }
    }

    @Test func removedDeviceStaysRemovedAndIsExplained() throws {
        let device = try register()
        trace([], [report(.gone, of: device, status: 410, reason: "Unregistered")])
        let removed = try operations().remove(device)
        #expect(removed.removed.device == device && removed.text.contains("removed device \(device)"))
        #expect(try registry.address(of: DeviceID(rawValue: device)) == nil)
        #expect(
            throws: OperationError.unknown(
                Sentence(
                    "former-device",
                    [
                        "device": "\(device)", "outcome": "gone", "reason": "410 Unregistered",
                        "at": "2026-03-14T00:00:00.000Z",
                    ],
                    "there is no device \(device) now; the last error of a push to it was gone (410 Unregistered) at "
                        + "2026-03-14 00:00:00 UTC"
                )
            )
        ) {
            try operations().remove(device)
        }
    }

    @Test(arguments: Mode.allCases) func testPushHasTheRequestedMode(_ mode: Mode) async throws {
        let device = try register()
        let sender = FakeTestPushes()
        let answer = try await operations(sender).test(device, mode: mode.name)
        #expect(answer.isDelivered && answer.mode == mode.name && answer.status == 200)
        let (notification, address) = try #require(sender.sent.withLock { $0.first })
        #expect(notification.mode == mode && address.token == Self.token)
        #expect(notification.sealed.isEmpty == (mode != .sealed))
        #expect(notification.expiresAt > Self.noon)
        #expect(!answer.text.contains(Self.token) && !answer.json.contains(Self.token))
    }

    @Test func goneTestPushKeepsTheRegistration() async throws {
        let device = try register(#","mode":"nudge""#)
        let sender = FakeTestPushes(Outcome(.gone, status: 410, reason: "Unregistered"))
        let answer = try await operations(sender).test(device)
        #expect(!answer.isDelivered && answer.mode == "nudge" && answer.text.contains("410 Unregistered"))
        #expect(try operations().show(device).device == device)
        await #expect(throws: OperationError.self) { try await self.operations().test(device, mode: "loud") }
        await #expect(throws: Self.unknown(99)) {
            try await self.operations().test(99)
        }
    }

    @Test func testPushIsReducedLikeRealOnes() async throws {
        let device = try register(#","mode":"sealed""#)
        let sender = FakeTestPushes(
            Outcome(.rejected, reason: "unsupported"),
            Outcome(.rejected, status: 413, reason: "payload-too-large"),
            Outcome(.delivered, status: 200, reason: "delivered")
        )
        let answer = try await operations(sender).test(device)
        #expect(answer.isDelivered && answer.mode == "wake")
        #expect(answer.reductions.map(\.mode) == ["sealed", "nudge"] && answer.reductions.map(\.status) == [0, 413])
        #expect(sender.sent.withLock { $0.map(\.0.mode) } == [.sealed, .nudge, .wake])
        for words in [
            "mode sealed does not pass (unsupported): it is sent again",
            "mode nudge does not pass (413 payload-too-large)",
            "the push service's answer: 200",
        ] { #expect(answer.text.contains(words)) }
    }

    @Test(
        arguments: [
            (Outcome(.rejected, reason: "endpoint"), "the push service was not asked (endpoint)"),
            (Outcome(.misconfigured, reason: "no-key"), "the push service was not asked (no-key)"),
            (Outcome(.retry, reason: "unreachable"), "no answer from the push service (unreachable)"),
            (Outcome(.retry, status: 503, reason: "busy"), "the push service's answer: 503 busy"),
        ]
    )
    func testPushWithoutAResponseHasNoResponse(_ outcome: Outcome, _ words: String) async throws {
        let answer = try await operations(FakeTestPushes(outcome)).test(try register())
        #expect(!answer.isDelivered && answer.reductions.isEmpty)
        #expect(answer.text.split(separator: "\n").dropFirst().first == words[...])
    }

    @Test func explainsFromTheTraceAndNamesDevices() throws {
        let device = try register()
        let event = EventID(Bytes32(words: (1, 2, 3, 4)))
        trace(
            [
                TraceStep(
                    step: .queued,
                    event: event,
                    account: alice.publicKey,
                    device: DeviceID(rawValue: device),
                    delivery: "d",
                    reason: "reply"
                )
            ],
            [report(.delivered, of: device, status: 200)]
        )
        for name in [
            event.hex, NIP19.note(event), NIP19.nevent(event, author: alice.publicKey), "nostr:" + NIP19.note(event),
        ] {
            let explanation = try eventOperations().explain(name, recipient: alice.publicKey.hex)
            let told = try #require(explanation.accounts.first?.devices.first)
            #expect(told.name == "phone" && told.isRegistered && told.outcome == "delivered: ios/default took it (200)")
        }
        let other = try eventOperations().explain(alice.publicKey.hex)
        #expect(!other.isKnown && other.tracedSince == "2026-03-14T00:00:00.000Z")
    }

    /// Stores deliveries and held events like the pipeline.
    private func fillOutbox(
        _ deliveries: [DeliveryID],
        held: [(event: EventID, signal: Signal, count: UInt32)],
        of device: Int64
    ) throws {
        let outbox = try Outbox(path: configuration.store.outboxPath)
        var changes = PaceChanges()
        changes.rows = [PaceRow(device: DeviceID(rawValue: device), pushedAt: Self.noon)]
        changes.held = held.enumerated().map { slot, group in
            HeldRow(
                key: HeldKey(device: DeviceID(rawValue: device), slot: UInt8(slot)),
                account: alice.publicKey.array,
                event: group.event.array,
                isMessage: group.signal == .dm,
                hasOverflowed: false,
                signal: group.signal,
                mode: .wake,
                urgency: .normal,
                count: group.count,
                since: Self.noon,
                expiresAt: 0
            )
        }
        try outbox.insert(
            deliveries.map { id in
                Delivery(
                    id: id,
                    device: DeviceID(rawValue: device),
                    platform: "ios",
                    app: "default",
                    notification: .wake(.mention, urgency: .normal),
                    acceptedAt: Self.noon
                )
            },
            causes: [],
            pace: changes
        ) { _ in }
    }

    @Test func currentAndFormerHoldsAndQueuedAndLostPushesAreDistinguished() throws {
        let device = try register()
        let events = (1...4).map { EventID(Bytes32(words: ($0 << 48, 2, 3, 4))) }
        let deliveries = events.map { Self.delivery($0, device) }
        trace(
            zip(events, deliveries).enumerated().map { number, event in
                TraceStep(
                    step: number < 2 ? .held : .queued,
                    event: event.0,
                    account: alice.publicKey,
                    device: DeviceID(rawValue: device),
                    delivery: event.1,
                    reason: number < 2 ? "cooldown" : "reply"
                )
            }
        )
        try fillOutbox([deliveries[2]], held: [(events[1], .mention, 1)], of: device)
        let outcomes = try events.map { event in
            try #require(try eventOperations().explain(event.hex).accounts.first?.devices.first?.outcome)
        }
        #expect(outcomes[0].hasPrefix("its end is not known"))
        #expect(outcomes[1].hasPrefix("held: the device was notified a moment ago; goes at "))
        #expect(outcomes[2] == "waits for its turn: no attempt has ended yet")
        #expect(outcomes[3].hasPrefix("its end is not known"))
    }

    @Test func everyHeldGroupHasItsOwnTime() throws {
        let quiet = #","quiet":{"start":"00:00","end":"07:00","tz":"Z","dm_bypass_quiet":true}"#
        let device = try register(quiet)
        let events = (1...2).map { EventID(Bytes32(words: ($0 << 48, 2, 3, 4))) }
        trace(
            events.map { event in
                TraceStep(
                    step: .held,
                    event: event,
                    account: alice.publicKey,
                    device: DeviceID(rawValue: device),
                    delivery: Self.delivery(event, device),
                    reason: "cooldown"
                )
            }
        )
        try fillOutbox([], held: [(events[0], .mention, 3), (events[1], .dm, 2)], of: device)
        let outcomes = try events.map { event in
            try #require(try eventOperations().explain(event.hex).accounts.first?.devices.first?.outcome)
        }
        #expect(
            outcomes == [
                "held: quiet hours until 07:00 (UTC); goes at 2026-03-14 07:00:00 UTC; 3 events wait",
                "held: the device was notified a moment ago; goes at 2026-03-14 00:01:00 UTC; 2 events wait",
            ]
        )
        let pace = try #require(try operations().show(device).pace)
        #expect(pace.held == 5 && pace.nextPushAt == "2026-03-14T00:01:00.000Z")
        #expect(pace.reason == "the device was notified a moment ago")
    }

    @Test func uncountedPushesAreNotShownAsZero() throws {
        let device = try register(#","batch":{"window_seconds":0,"cooldown_seconds":0}"#)
        configuration.defaults.pacing.dailyCap = 0
        try fillOutbox([], held: [], of: device)
        let shown = try operations().show(device)
        #expect(shown.pace?.pushesToday == nil && !shown.json.contains("pushes_today"))
        #expect(shown.text.contains("pushes today  not counted"))
        configuration.defaults.pacing.dailyCap = 100
        #expect(try operations().show(device).pace?.pushesToday == 0)
    }

    @Test func onlyQueuedPushesAreKnownWithoutATrace() throws {
        let device = try register()
        let other = try register(device: "tablet")
        trace([], [report(.delivered, of: device, status: 200)])
        let events = (1...2).map { EventID(Bytes32(words: ($0 << 48, 2, 3, 4))) }
        try fillOutbox([Self.delivery(events[1], other)], held: [(events[0], .mention, 2)], of: device)
        configuration.trace = nil
        let shown = try operations().show(device)
        #expect(shown.lastSuccess == nil && !shown.isTraced)
        #expect(shown.text.contains("last success  not written down (trace: off)"))
        let held = "for device \(device), held: the device was notified a moment ago; goes at 2026-03-14 00:01:00 UTC"
        for recipient in [nil, alice.publicKey.hex] {
            let explanation = try eventOperations().explain(events[0].hex, recipient: recipient)
            #expect(!explanation.isKnown && explanation.tracedSince == nil)
            #expect(explanation.text.contains(held + "; 2 events wait") && explanation.text.contains("trace: off"))
        }
        let strangers = try eventOperations().explain(events[0].hex, recipient: identity.publicKey.hex)
        #expect(!strangers.text.contains("for device"))
        let queued = try eventOperations().explain(events[1].hex, recipient: alice.publicKey.hex)
        #expect(queued.text.contains("for device \(other), which has not been reached yet"))
    }

    @Test func explanationNamesTheTracesLimit() throws {
        configuration.trace?.days = 1
        let store = TraceStore(path: configuration.store.tracePath, now: { Self.noon - .days(3) }, logger: logger)
        store.trace(
            [TraceStep(step: .expired, event: EventID(Bytes32(words: (1, 2, 3, 4))))],
            at: Self.noon - .days(3)
        )
        store.close()
        let explanation = try eventOperations().explain(alice.publicKey.hex)
        #expect(explanation.tracedSince == "2026-03-13T00:00:00.000Z")
        #expect(explanation.text.contains("goes back to 2026-03-13 00:00:00 UTC (500000 entries and 1 days at most)"))
    }

    @Test func missingTraceIsReported() throws {
        let explanation = try eventOperations().explain(alice.publicKey.hex, recipient: alice.publicKey.hex)
        #expect(!explanation.isKnown && explanation.text.contains("there is no trace"))
        #expect(explanation.text.contains("the recipient has no device registered now"))
    }

    @Test func failedChangeNamesItsReason() async throws {
        let device = try register()
        try FileManager.default.createDirectory(
            atPath: configuration.store.path + "-lock",
            withIntermediateDirectories: true
        )
        let removal = RouterOrFiles(configuration: configuration)
        let failure = await #expect(throws: OperationError.self) { try await removal.remove(device) }
        #expect(failure?.description.contains("-lock: Is a directory. Check that its folder exists") ?? false)
        // The error of the key file is more specific.
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: configuration.identity.keyFile)
        await #expect(throws: Diagnostics.self) { try await removal.remove(device) }
    }

    @Test func commandsReadWithARunningRouterAndChangeOnlyWithoutOne() throws {
        let device = try register()
        let lock = try StoreLock(store: configuration.store.path)
        try withExtendedLifetime(lock) {
            let reading = try OperatorAccess(configuration, for: .reading, now: { Self.noon })
            #expect(try reading.operations.show(device).device == device)
            #expect(throws: OperationError.self) { try reading.operations.remove(device) }
            #expect(throws: StoreLockError.self) { try OperatorAccess(configuration, for: .changing) }
        }
    }

    @Test func queuedDeliveriesAreCounted() throws {
        let device = try register()
        #expect(try operations().show(device).waiting == nil, "there is no outbox yet")
        try fillOutbox(["a", "b", "c"], held: [], of: device)
        let overview = try operations().show(device)
        #expect(overview.waiting == 3)
        #expect(overview.text.contains("in the outbox 3 not delivered yet"))
        #expect(try operations().list().devices.map(\.waiting) == [3])
        let other = try register(device: "tablet")
        #expect(try operations().show(other).waiting == 0)
    }

    @Test func deliveryBehindAnEarlierPushShowsWhenThatIsRetried() throws {
        let device = try register()
        let event = EventID(Bytes32(words: (1, 2, 3, 4)))
        let delivery = Self.delivery(event, device)
        trace([
            TraceStep(
                step: .queued,
                event: event,
                account: alice.publicKey,
                device: DeviceID(rawValue: device),
                delivery: delivery,
                reason: "reply"
            )
        ])
        try fillOutbox(["first", delivery], held: [], of: device)
        func outcome() throws -> String? {
            try eventOperations().explain(event.hex).accounts.first?.devices.first?.outcome
        }
        #expect(try outcome() == "waits for its turn: no attempt has ended yet")
        func fail(_ attempts: Int) throws {
            var changes = OutboxChanges()
            let key = OutboxKey(queue: 1, sequence: 1)
            changes.reschedulings = [.init(key: key, due: Self.noon + .minutes(1), attempts: attempts)]
            try Outbox(path: configuration.store.outboxPath).apply(changes)
        }
        try fail(1)
        #expect(
            try outcome()
                == "waits for its turn: an earlier push to this device is tried again from 2026-03-14 00:01:00 UTC on"
        )
        // A delivery that was set aside does not delay others.
        try fail(4)
        #expect(try outcome() == "waits for its turn: no attempt has ended yet")
    }
}
