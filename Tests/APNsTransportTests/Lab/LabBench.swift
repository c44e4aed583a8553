import CarillonABI
import CarillonLab
import Foundation
import PluginKit
import PluginTestSupport
import Synchronization
import Testing

@testable import APNsTransport

/// A transport whose requests curl carries to a lab.
final class LabBench: Sendable {
    enum Way: Sendable, CaseIterable {
        case token
        case certificate
        case pkcs12
    }

    static let broadcastKey = "the operator's own key"

    let lab: Lab
    private let host = FakeHost()
    private let transport: APNsTransport
    private let folder: URL
    private let asked = Mutex(0)

    init(_ way: Way = .token, _ more: [String: any Sendable] = [:]) async throws {
        lab = try await Lab.start()
        folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let addresses = lab.addresses.apns
        let keyFile = folder.appending(path: "broadcast.key")
        try LabBench.broadcastKey.write(to: keyFile, atomically: true, encoding: .utf8)
        var block: [String: Any] = [
            "topic": lab.credentials.topic, "base_url": addresses.url,
            "sandbox": try #require(lab.addresses.apnsSandbox?.url),
            "broadcast_management": addresses.channelsURL, "broadcast_key_file": keyFile.path,
        ]
        switch way {
        case .token:
            block["team_id"] = lab.credentials.teamID
            block["key_id"] = lab.credentials.keyID
            block["key"] = lab.credentials.keyPEM
        case .certificate: block["certificate_file"] = addresses.certificateFile
        case .pkcs12:
            block["certificate_file"] = addresses.pkcs12File
            block["certificate_password_file"] = addresses.passwordFile
        }
        block.merge(more) { $1 }
        let text = String(decoding: try JSONSerialization.data(withJSONObject: block), as: UTF8.self)
        transport = try APNsTransport(configuration: JSONObject(parsing: text), host: Host(host.pointer))
    }

    func end() async {
        await lab.shutdown()
        try? FileManager.default.removeItem(at: folder)
    }

    /// Returns the outcome of a notification once the lab has answered all requests of the plugin.
    func outcome(of sample: SampleNotification, to registration: SampleRegistration) async throws -> RecordedOutcome {
        let box = TransportBox(transport, host: try Host(host.pointer))
        let ticket = UInt64(host.outcomes.count) + 1
        let status = registration.withABI { registration in
            sample.withABI { box.deliver(ticket, registration, $0) }
        }
        try #require(status == .CARILLON_OK)
        try await carryAll()
        return try #require(host.outcomes.last { $0.ticket == ticket })
    }

    /// Runs a command of the operator and returns its answer.
    func run(_ words: String...) async throws -> CommandAnswer {
        let answers = Heard<CommandAnswer>()
        let admission = transport.command(words) { answers.add($0) }
        try #require(admission.status == .CARILLON_OK)
        try await carryAll()
        return try #require(answers.all.last)
    }

    private func carryAll() async throws {
        while let index = nextRequest() {
            let answer = try await Curl.carry(
                host.requests[index],
                trusting: lab.addresses.caFile,
                certificate: certificate()
            )
            host.answer(
                index,
                status: answer.status,
                headers: answer.headers,
                body: answer.body,
                failure: "unreachable"
            )
        }
    }

    private func nextRequest() -> Int? {
        let count = host.requests.count
        return asked.withLock { asked in
            guard asked < count else { return nil }
            defer { asked += 1 }
            return asked
        }
    }

    /// Returns the certificate that the plugin asked the host to present.
    private func certificate() throws -> String? {
        guard let presented = host.presented.first else { return nil }
        let file = folder.appending(path: "presented.pem")
        try (presented.certificates + presented.key).write(to: file, atomically: true, encoding: .utf8)
        return file.path
    }
}
