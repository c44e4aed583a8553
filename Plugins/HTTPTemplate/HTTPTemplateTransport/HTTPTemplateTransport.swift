import Core
public import PluginKit

/// Push services described in the configuration: a request with placeholders, and the meanings of its responses. For
/// services that show a text to a person.
public final class HTTPTemplateTransport: PluginTransport {
    public static let platform: StaticString = "http"
    public static let description: StaticString? = HTTPTemplateDescription.json

    private static let servicesLimit = 32

    private let services: [String: Service]
    private let wakeTexts: WakeTexts
    private let host: Host
    private let now: @Sendable () -> Timestamp

    public convenience init(configuration: JSONObject, host: Host) throws(PluginError) {
        try self.init(configuration: configuration, host: host, now: Timestamp.now)
    }

    init(configuration: JSONObject, host: Host, now: @escaping @Sendable () -> Timestamp) throws(PluginError) {
        try configuration.refuseMembers(except: ["wake_message", "batch_message", "secrets_file", "services"])
        wakeTexts = try WakeTexts(configuration)
        let blocks = try configuration.mapping("services", expected: "services by their names") ?? JSONObject()
        guard (1...HTTPTemplateTransport.servicesLimit).contains(blocks.count) else {
            throw PluginError("services: expected 1 to \(HTTPTemplateTransport.servicesLimit), found \(blocks.count)")
        }
        let kept = try SecretsFile(configuration)
        try kept.requireServices(blocks.members.map(\.name))
        var services: [String: Service] = [:]
        for (name, value) in blocks.members {
            services[name] = try PluginError.at("services.\(name)") { () throws(PluginError) in
                guard let block = value.object else { throw PluginError("expected a mapping, found \(value.kind)") }
                return try Service(block, kept.secrets(of: name))
            }
        }
        self.services = services
        self.host = host
        self.now = now
    }

    public func validate(_ registration: borrowing Registration) throws(PluginError) {
        try service(of: registration).check(registration)
    }

    public func deliver(
        _ ticket: Ticket,
        _ registration: borrowing Registration,
        _ notification: borrowing Notification
    ) -> Acceptance {
        let service: Service
        do throws(PluginError) {
            service = try self.service(of: registration)
            try service.check(registration)
        } catch {
            return .invalid
        }
        switch notification.mode {
        // No app there could decrypt it.
        case .sealed, nil: return .unsupported
        case .wake, .nudge, .alert: break
        }
        do throws(ReadableMessageError) {
            let values = try Values(notification, registration, service, wakeTexts)
            var request = try service.request.request(values)
            request.maxResponseBytes = 4096
            return host.send(request) { [now, answers = service.answers] response in
                ticket.complete(answers.outcome(response, now: now()))
            }
        } catch {
            ticket.complete(Outcome(.rejected, reason: error.rawValue))
            return .accepted
        }
    }

    /// Returns the service that the registration names, or the only one if it names none.
    private func service(of registration: borrowing Registration) throws(PluginError) -> Service {
        let name = registration.field("service")?.string
        if let name, let service = services[name] { return service }
        if name == nil, services.count == 1, let service = services.first?.value { return service }
        throw PluginError("service: expected \(services.keys.sorted().joined(separator: " or "))")
    }
}

/// A file with secrets of services: lines `SERVICE.NAME=SECRET`, and comments that start with #.
struct SecretsFile: Sendable {
    private var secrets: [String: [String: String]] = [:]

    /// Throws for a malformed line. Errors never contain a secret.
    init(_ block: JSONObject) throws(PluginError) {
        guard let file = try block.file("secrets_file", expected: "the path of a file with secrets") else { return }
        for (index, line) in try file.text().split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
            .enumerated()
        {
            guard !line.allSatisfy(\.isWhitespace), !line.hasPrefix("#") else { continue }
            let parts = line.split(separator: "=", maxSplits: 1)
            let names = parts.first?.split(separator: ".", omittingEmptySubsequences: false) ?? []
            guard parts.count == 2, names.count == 2, names.allSatisfy({ !$0.isEmpty }) else {
                throw PluginError(
                    "secrets_file: expected SERVICE.NAME=SECRET in line \(index + 1) of \(file.path), as in "
                        + "pushover.token=abc123"
                )
            }
            secrets[String(names[0]), default: [:]][String(names[1])] = String(parts[1])
        }
    }

    /// Throws for a secret of a service that is not in `services`, which is probably a typo.
    func requireServices(_ services: [String]) throws(PluginError) {
        guard let other = secrets.keys.sorted().first(where: { !services.contains($0) }) else { return }
        throw PluginError(
            "secrets_file: expected secrets of \(services.sorted().joined(separator: ", ")), found \(other)"
        )
    }

    func secrets(of service: String) -> [String: String] { secrets[service] ?? [:] }
}
