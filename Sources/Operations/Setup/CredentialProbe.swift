import Notifications
import RouterConfiguration
import Units

/// Asks push services what they think of the configured credentials, and notifies nobody. Some plugins know how to ask
/// (the command `check`). The others push to devices that do not exist: a push service looks at the credentials first,
/// so what it says of the device shows that they are good.
package struct CredentialProbe {
    /// What a push service thinks.
    package enum Verdict: Sendable, Hashable {
        case accepted
        /// The reason is the push service's, or the plugin's.
        case refused(String)
        /// It could not be asked.
        case unknown(String)
    }

    private let sender: any TestPushSender
    private let command: Command
    private let now: @Sendable () -> Timestamp

    /// Has the plugin of a platform do what the words say, for the default app.
    package typealias Command = @Sendable (_ platform: String, _ words: [String]) async throws -> PushServiceAnswer

    package init(_ configuration: Configuration, now: @escaping @Sendable () -> Timestamp) {
        self.init(
            sender: ConfiguredTestPushes(configuration: configuration),
            command: { platform, words in
                let app = Configuration.App.defaultName
                return try await PushServiceCommand(configuration: configuration, app: app, platform: platform).run(
                    words
                )
            },
            now: now
        )
    }

    package init(sender: any TestPushSender, command: @escaping Command, now: @escaping @Sendable () -> Timestamp) {
        self.sender = sender
        self.command = command
        self.now = now
    }

    /// Has the plugin of `platform` ask its push service.
    package func check(_ platform: String) async -> Verdict {
        let answer: PushServiceAnswer
        do {
            answer = try await command(platform, ["check"])
        } catch {
            return .unknown("\(error)")
        }
        // The words of PluginKit's `CommandAnswer`.
        if answer.isGood { return .accepted }
        for (start, verdict) in [("refused: ", Verdict.refused), ("unknown: ", Verdict.unknown)]
        where answer.text.hasPrefix(start) {
            return verdict(String(answer.text.dropFirst(start.count)))
        }
        return .unknown(answer.text)
    }

    /// Asks the push service of `platform`, for the default app, about a `token` that is well-formed and that no device
    /// has.
    package func ask(_ platform: String, token: String) async -> Verdict {
        let address = DeviceAddress(
            platform: platform,
            app: Configuration.App.defaultName,
            token: token,
            registeredAt: now(),
            isProven: false
        )
        do throws(OperationFailure) {
            let push = TestPush(mode: .wake, now: now()).notification
            let outcome = try await sender.send(push, id: DeliveryIDs.fresh(), to: address)
            let said = ReportWords.explained(Int(outcome.status), outcome.reason, to: "")
            return switch outcome.kind {
            // The plugin refused it by itself, and nobody was asked.
            case .rejected where outcome.status == 0: .unknown(said)
            case .delivered, .gone, .rejected: .accepted
            case .misconfigured: .refused(said)
            case .retry: .unknown(said)
            }
        } catch {
            return .unknown("\(error)")
        }
    }

    /// Sends a text to the target of that URL. Returns nil when the push service took it, else what it said.
    package func notify(_ platform: String, at url: String) async -> String? {
        let address = DeviceAddress(
            platform: platform,
            app: Configuration.App.defaultName,
            token: url,
            registeredAt: now()
        )
        do throws(OperationFailure) {
            let push = TestPush(mode: .alert, now: now()).notification
            let outcome = try await sender.send(push, id: DeliveryIDs.fresh(), to: address)
            guard outcome.kind == .delivered else {
                let said = ReportWords.explained(Int(outcome.status), outcome.reason, to: "")
                return said.isEmpty ? "\(outcome.kind)" : said
            }
            return nil
        } catch {
            return "\(error)"
        }
    }
}
