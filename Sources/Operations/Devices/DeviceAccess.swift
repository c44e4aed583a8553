import Foundation
import RouterConfiguration

/// The way of commands to events, devices and users: the files, also while a router runs. What a member of a cluster
/// has in its files is only a part of the truth, so that it is asked as long as it runs.
package struct DeviceAccess {
    private let configuration: Configuration

    package init(configuration: Configuration) { self.configuration = configuration }

    /// Throws an ``OperationFailure``, as all of these.
    package func explain(_ event: String, recipient: String?) async throws -> EventExplanation {
        var parameters: [String: String] = [:]
        parameters["recipient"] = recipient
        if let answer: EventExplanation = try await ask("/v1/events/\(Self.segment(event))/explain", parameters) {
            return answer
        }
        return try OperatorAccess(configuration, for: .reading).events.explain(event, recipient: recipient)
    }

    package func list(account: String?, after previous: Int64?) async throws -> DeviceList {
        var parameters: [String: String] = [:]
        parameters["account"] = account
        parameters["after"] = previous.map { String($0) }
        if let answer: DeviceList = try await ask("/v1/devices", parameters) { return answer }
        return try files.list(account: account, after: previous)
    }

    package func show(_ device: Int64) async throws -> DeviceOverview {
        if let answer: DeviceOverview = try await ask("/v1/devices/\(device)", [:]) { return answer }
        return try files.show(device)
    }

    package func user(_ key: String) async throws -> UserOverview {
        if let answer: UserOverview = try await ask("/v1/users/\(Self.segment(key))", [:]) { return answer }
        return try OperatorAccess(configuration, for: .reading).users.show(key)
    }

    /// Nil where the files are to be read.
    private func ask<Answer: OperatorAnswer>(_ path: String, _ parameters: [String: String]) async throws -> Answer? {
        guard configuration.cluster != nil else { return nil }
        return try await RouterOrFiles(configuration: configuration).ask("GET", path, parameters)
    }

    private var files: DeviceOperations {
        get throws { try OperatorAccess(configuration, for: .reading).operations }
    }

    private static func segment(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }
}
