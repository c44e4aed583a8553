import Core
import Delivery
import DeliveryTestSupport
import Nostr
import Pipeline
import PlatformTestSupport
import Push
import Rules
import Synchronization
import Testing

/// The mode of a device is the stricter of the rule's and the registration's.
@Suite struct ModeTests {
    private static func rules(mode: Mode) throws -> RuleBook {
        try RuleBook(
            yaml: """
                version: 1
                rules:
                  - match: { kinds: [1] }
                    mode: \(mode.name)
                    title: "{{author.name}}: {{event.content}}"
                    expires: 1h
                nudge: { title: "Something happened" }
                """,
            name: "test"
        )
    }

    /// Returns the notification that a note causes on a device.
    private func wake(
        _ rule: Mode,
        _ registration: Mode,
        sealer: FakeSealer? = FakeSealer(),
        encrypting: Set<String> = [],
        further: String = ""
    ) throws -> Delivery {
        let dependencies = PipelineDependencies(sealer: sealer)
        let bench = try Workbench(
            rules: Self.rules(mode: rule),
            encryptingPlatforms: encrypting,
            dependencies: dependencies
        )
        let owner = try bench.account(mode: registration.name, further: further)
        let tags = [["p", owner.publicKey.hex]]
        bench.submit([try bench.event(.textNote, "the secret", tags: tags, by: try Workbench.keys())])
        #expect(bench.kept.count == 1)
        return try #require(bench.kept.first)
    }

    @Test(arguments: Mode.allCases, Mode.allCases)
    func stricterModeOfRuleAndRegistrationWins(rule: Mode, registration: Mode) throws {
        let notification = try wake(rule, registration).notification
        #expect(notification.mode == min(rule, registration))
        #expect(notification.title.hasSuffix(": the secret") == (notification.mode == .alert))
        #expect(notification.neutral.title == (notification.mode == .wake ? "" : "Something happened"))
        #expect(!notification.sealed.isEmpty == (notification.mode == .sealed))
    }

    @Test(arguments: Mode.allCases, [true, false])
    func silentRuleIsNeverSentToPlatformsThatShowEverything(mode: Mode, isShown: Bool) throws {
        let rules = "version: 1\nrules: [{ name: sync, match: { kinds: [1] }, apns: { content-available: 1 } }]"
        let bench = try Workbench(
            rules: RuleBook(yaml: rules, name: "test"),
            showingPlatforms: isShown ? ["ios"] : [],
            dependencies: PipelineDependencies(sealer: FakeSealer())
        )
        let owner = try bench.account(mode: mode.name)
        let event = try bench.event(.textNote, "x", tags: [["p", owner.publicKey.hex]], by: try Workbench.keys())
        bench.submit([event])
        guard !isShown else {
            #expect(bench.kept.isEmpty && bench.count(.silent) == 1)
            let step = try #require(bench.observed.steps.first { $0.step == .silent })
            #expect(step.step.words(step.reason) == "not sent: it is silent, and ios can only show what it gets")
            return
        }
        let notification = try #require(bench.kept.first).notification
        #expect(notification.mode == (mode == .nudge ? .wake : mode))
        #expect(notification.neutral.isEmpty && notification.neutralPresentation.isEmpty)
    }

    @Test func fullNotificationIsSealedUnderTheDeliveryID() throws {
        let sealer = FakeSealer()
        let delivery = try wake(.sealed, .alert, sealer: sealer)
        #expect(delivery.notification.sealed == #"{"for":\#(delivery.device.rawValue)}"#)
        let given = try #require(sealer.given.withLock(\.self).first)
        #expect(given.id == delivery.id)
        #expect(given.device == delivery.device)
        #expect(given.notification.mode == .sealed)
        #expect(given.notification.title.hasSuffix(": the secret"))
        #expect(given.notification.expiresAt == Workbench.start + .hours(1))
    }

    @Test(arguments: [FakeSealer(refuses: true), nil])
    func notificationThatCannotBeSealedIsSentAsNudge(sealer: FakeSealer?) throws {
        let notification = try wake(.alert, .sealed, sealer: sealer).notification
        #expect(notification.mode == .nudge)
        #expect(notification.neutral.title == "Something happened")
        #expect(notification.title.isEmpty && notification.data.isEmpty && notification.native.isEmpty)
        #expect(notification.expiresAt == Workbench.start + .hours(1))
    }

    @Test func encryptingTransportGetsPlaintextUnlessTheDeviceHasAKey() throws {
        let sealer = FakeSealer()
        let whole = try wake(.sealed, .sealed, sealer: sealer, encrypting: ["ios"]).notification
        #expect(whole.mode == .sealed && whole.sealed.isEmpty)
        #expect(whole.title.hasSuffix(": the secret"))
        #expect(whole.neutral.title == "Something happened")
        #expect(sealer.given.withLock(\.count) == 0)
        let key = #","sealing_key":"79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798""#
        let sealed = try wake(.sealed, .sealed, sealer: sealer, encrypting: ["ios"], further: key).notification
        #expect(!sealed.sealed.isEmpty && sealed.title.isEmpty)
        let readable = try wake(.alert, .alert, sealer: sealer, encrypting: ["ios"], further: key).notification
        #expect(readable.mode == .alert && readable.sealed.isEmpty)
    }

    @Test func hintsSendAWakePushInEveryMode() throws {
        let bench = try Workbench(
            dependencies: PipelineDependencies(hintHeard: { _, _, _ in }, sealer: FakeSealer())
        )
        let partner = try Workbench.keys()
        let owner = try bench.account(mode: "alert", partners: [partner.publicKey])
        let content = Workbench.content(mode: "nudge", partners: [partner.publicKey])
        bench.submit([try bench.registration(of: owner, content, device: "tablet")])
        bench.submit([try bench.event(.wakeUpHint, tags: [["p", owner.publicKey.hex], ["t", "dm"]], by: partner)])
        #expect(bench.kept.map(\.notification) == Array(repeating: .wake(.dm, urgency: .high), count: 2))
    }

    @Test func everyDeviceGetsItsLanguage() throws {
        let rules = try RuleBook(
            yaml: """
                version: 1
                rules:
                  - name: swiss
                    match: { kinds: [1], language: de-CH }
                    drop: true
                  - match: { kinds: [1], language: fr }
                    signal: mention
                    title: "pour vous"
                  - match: { kinds: [1] }
                    signal: reply
                    title: { default: "for you", de: "für dich" }
                nudge: { title: { default: "News", de: "Neues" } }
                """,
            name: "test"
        )
        let bench = try Workbench(rules: rules, dependencies: PipelineDependencies(sealer: FakeSealer()))
        let owner = try bench.account(mode: "alert", further: #","locale":"de-AT""#)
        let others: [(device: String, mode: String, locale: String)] = [
            ("a", "nudge", "de"), ("b", "alert", "fr-CA"), ("c", "alert", "it"), ("d", "alert", "de-CH-1901"),
            ("e", "alert", "de_CH"), ("f", "wake", "fr"),
        ]
        for (device, mode, locale) in others {
            let content = Workbench.content(mode: mode, further: #","locale":"\#(locale)""#)
            bench.submit([try bench.registration(of: owner, content, device: device)])
        }
        let tags = [["p", owner.publicKey.hex]]
        bench.submit([try bench.event(.textNote, "x", tags: tags, by: try Workbench.keys())])
        let told = bench.kept.map { [$0.notification.signal.rawValue, $0.notification.title] }
        #expect(
            Set(told) == [
                ["reply", "für dich"], ["reply", ""], ["mention", "pour vous"], ["reply", "for you"], ["mention", ""],
            ]
        )
        #expect(bench.kept.count == 5)
        #expect(bench.kept.filter { $0.notification.mode == .nudge }.map(\.notification.neutral.title) == ["Neues"])
        #expect(bench.count(.dropped) == 1, "it is said once for a language")
    }
}
