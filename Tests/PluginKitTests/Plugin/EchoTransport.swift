import CarillonABI
import Core
import PluginKit
import Synchronization

/// A transport controlled by its configuration, to test the kit from both sides.
final class EchoTransport: PluginTransport {
    static let platform: StaticString = "echo"

    private let host: Host
    private let behaviour: String
    private let lastTicket = Mutex<Ticket?>(nil)

    init(configuration: JSONObject, host: Host) throws(PluginError) {
        self.host = host
        behaviour = try configuration.requiredText("behaviour", expected: "what to do")
    }

    func command(_ words: [String], completion: @escaping @Sendable (CommandAnswer) -> Void) -> Acceptance {
        let answer = CommandAnswer(isGood: words.last != "badly", text: words.joined(separator: "|"))
        switch words.first {
        case "answer": completion(answer)
        case "answer twice":
            completion(answer)
            completion(CommandAnswer(isGood: false, text: "again"))
        case "answer and refuse":
            completion(answer)
            return .failed
        case "lose": break
        case "present":
            do throws(PluginError) {
                try host.present(certificates: "certificates", key: "key", onConnection: "word")
                completion(answer)
            } catch {
                completion(CommandAnswer(isGood: false, text: error.description))
            }
        case "refuse": return .busy
        default: return .unsupported
        }
        return .accepted
    }

    func validate(_ registration: borrowing Registration) throws(PluginError) {
        guard registration.token == "good" else { throw PluginError("token: expected good") }
    }

    func deliver(
        _ ticket: Ticket,
        _ registration: borrowing Registration,
        _ notification: borrowing Notification
    ) -> Acceptance {
        switch behaviour {
        case "complete twice":
            ticket.complete(Outcome(.delivered, reason: "first"))
            ticket.complete(Outcome(.gone, reason: "second"))
            return .accepted
        case "complete and refuse":
            ticket.complete(Outcome(.delivered, reason: "first"))
            return .failed
        case "refuse": return .busy
        case "forget": return .accepted
        case "describe":
            ticket.complete(
                Outcome(
                    .delivered,
                    retryAfter: .milliseconds(notification.expiresAt?.milliseconds ?? 7),
                    reason: notification.title.string
                )
            )
            return .accepted
        default:
            var request = HTTPRequest("POST", url: "https://push.example/", followedBy: registration.token)
            request.addHeader("x-title", notification.title.string)
            request.addHeader("x-empty", "")
            request.body = [1, 2, 3]
            return host.send(request) { response in
                ticket.complete(
                    Outcome(
                        .retry,
                        status: response.status,
                        retryAfter: response.retryAfter(now: .epoch),
                        reason: response.failure
                    )
                )
            }
        }
    }
}

/// The table that a plugin with only this transport would export.
nonisolated(unsafe) let echoPlugin = PluginDescriptor.make(
    id: "org.example.echo",
    version: "1",
    transports: [TransportEntry(EchoTransport.self) { TransportEntry.make(EchoTransport.self, $0, $1, $2, $3) }]
)
