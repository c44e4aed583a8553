import Delivery
import EventTrace
import Foundation
import Logging
import RouterConfiguration
import Units

/// The way of commands to deliveries: the running router's API, else the files of a stopped one.
package struct QueueAccess {
    private let configuration: Configuration
    private let now: @Sendable () -> Timestamp

    package init(configuration: Configuration, now: @escaping @Sendable () -> Timestamp = Timestamp.now) {
        self.configuration = configuration
        self.now = now
    }

    /// Throws an ``OperationFailure``, as all of these.
    package func list(_ parameters: [String: String]) async throws -> QueueList {
        if let answer: QueueList = try await router.ask("GET", "/v1/queue", parameters) { return answer }
        return try reading().list(parameters)
    }

    package func show(_ id: String) async throws -> QueueDetails {
        let name = id.addingPercentEncoding(withAllowedCharacters: .alphanumerics.union(["-"])) ?? ""
        if let answer: QueueDetails = try await router.ask("GET", "/v1/queue/\(name)", [:]) { return answer }
        return try reading().show(id)
    }

    package func retry(_ parameters: [String: String]) async throws -> QueueRetry {
        try await router.require("POST", "/v1/queue/retry", parameters, toDo: "send pushes again")
    }

    package func drop(_ parameters: [String: String]) async throws -> QueueDropped {
        if let answer: QueueDropped = try await router.ask("POST", "/v1/queue/drop", parameters) { return answer }
        let access = try router.files()
        guard FileManager.default.fileExists(atPath: configuration.outboxPath) else {
            return QueueDropped(dryRun: parameters["dry_run"] == "1")
        }
        let outbox = try Outbox(path: configuration.outboxPath, deadLetters: configuration.deadLetters)
        let logger = Logger(label: "carillon.queue") { _ in SwiftLogNoOpLogHandler() }
        let trace = configuration.trace.map {
            TraceStore(path: configuration.tracePath, limits: $0, now: now, logger: logger)
        }
        // Nobody else has the files before.
        defer {
            withExtendedLifetime(access) {
                trace?.close()
                outbox.settle()
            }
        }
        return try await operations(access, .stopped(outbox, trace)).drop(parameters)
    }

    private var router: RouterOrFiles { RouterOrFiles(configuration: configuration) }

    private func reading() throws -> QueueOperations {
        guard FileManager.default.fileExists(atPath: configuration.outboxPath) else {
            throw OperationFailure.unreachable("there is no outbox yet: carillon serve makes it when it starts")
        }
        return operations(try OperatorAccess(configuration, for: .reading), .readOnly)
    }

    private func operations(_ access: OperatorAccess, _ handle: QueueHandle) -> QueueOperations {
        QueueOperations(
            registry: access.operations.registry,
            files: OperatorFiles(configuration: configuration),
            handle: handle,
            deadLetters: configuration.deadLetters,
            now: now
        )
    }
}
