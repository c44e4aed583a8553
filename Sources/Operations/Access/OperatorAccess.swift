import Core
import Delivery
import Foundation
import Nostr
import Observability
import Pipeline
import Push
import Registry
import RouterConfiguration

/// The access of commands to a router's events and devices through its files, whether or not the router runs.
package struct OperatorAccess {
    package enum Purpose: Sendable {
        /// Allowed while a router runs.
        case reading
        /// Allowed only while no router runs.
        case changing
    }

    let reader: DeviceReader
    package let operations: DeviceOperations
    package let events: EventOperations
    package let users: UserOperations
    /// Keeps routers off the store while this value lives.
    private let lock: StoreLock?

    /// Throws an ``OperationError`` if the files cannot be used for this purpose, and `Diagnostics` for an invalid
    /// key file. Throws `StoreLockError.storeInUse` if a change is intended while a router runs on the files.
    package init(
        _ configuration: Configuration,
        for purpose: Purpose,
        now: @escaping @Sendable () -> Timestamp = Timestamp.now
    ) throws {
        let key = IdentityFile(path: configuration.identity.keyFile)
        guard key.exists, FileManager.default.fileExists(atPath: configuration.store.path) else {
            throw OperationError.unreachable(
                "there is no router yet: \(key.exists ? configuration.store.path : configuration.identity.keyFile) is missing. "
                    + "Start carillon serve, which creates it"
            )
        }
        // The key comes first, because its error is the clearest if another user runs the command.
        let identity = try key.read()
        lock = try purpose == .changing ? Self.lock(configuration) : nil
        let platforms = try CommandPlugins(configuration).platforms.catalog
        do {
            let store =
                purpose == .changing
                ? try RegistryStore(path: configuration.store.path)
                : try RegistryStore(reading: configuration.store.path)
            let registry = try Registry(
                store: store,
                identity: identity,
                now: now,
                platforms: platforms,
                accessMode: configuration.access.mode,
                accessRules: configuration.access.rules,
                check: { _ in }
            )
            reader = DeviceReader(
                registry: registry,
                files: OperatorFiles(configuration: configuration),
                configuration: { [configuration = configuration.limited(by: platforms)] in configuration },
                deliveryID: try DeliveryIDs(registry.keys.seeds).id,
                now: now
            )
            operations = DeviceOperations(reader, services: ConfiguredServices(configuration: configuration))
            events = EventOperations(reader, traceIDs: try configuration.traceIDs(registry.keys.seeds))
            users = UserOperations(operations)
        } catch {
            throw OperationError.unavailable("\(error)")
        }
    }

    private static func lock(_ configuration: Configuration) throws -> StoreLock {
        do throws(StoreLockError) {
            return try StoreLock(store: configuration.store.path)
        } catch {
            if error.isOfStoreInUse { throw error }
            throw OperationError.unavailable(error.description)
        }
    }
}

extension Configuration {
    /// Returns the configuration with the push services' own limits as defaults.
    package func limited(by platforms: PlatformCatalog) -> Configuration {
        var configuration = self
        configuration.defaults.pacing = defaults.pacing.adding(silentPushesPerHour: platforms.silentPushesPerHour)
        return configuration
    }

    /// Derives the trace IDs of events; nil if no spans are exported.
    package func traceIDs(_ seeds: KeySeeds) throws -> TraceIDs? {
        try tracing.settings.map { try TraceIDs(seed: seeds[.traceIDs], sample: $0.sample) }
    }
}

/// The files that are read, apart from the registry, to answer operators.
package struct OperatorFiles: Sendable {
    /// Nil if the trace is disabled; the files of an earlier trace are out of date.
    let trace: (reader: TraceReader, limits: TraceLimits)?
    /// The running router's trace; nil in commands, and if the trace is disabled.
    private let traceStore: TraceStore?
    package let outbox: OutboxReaders
    /// The capacity of the outbox, in deliveries.
    let maxWaiting: Int
    private let isCause: @Sendable ([UInt8]) -> Bool

    /// `partitions` are those that the router owns. `isCause` returns whether one of them recently accepted an event.
    package init(
        configuration: Configuration,
        trace store: TraceStore? = nil,
        partitions: @escaping @Sendable () -> [OutboxReader] = { [] },
        isCause: @escaping @Sendable ([UInt8]) -> Bool = { _ in false }
    ) {
        traceStore = store
        trace = configuration.trace.map { (TraceReader(path: configuration.store.tracePath), $0) }
        outbox = OutboxReaders(own: OutboxReader(path: configuration.store.outboxPath), partitions: partitions)
        maxWaiting = configuration.store.maxWaiting
        self.isCause = isCause
    }

    /// Writes the router's recent trace entries to the file. Returns whether it has a trace.
    @discardableResult
    func flushTrace() -> Bool {
        traceStore?.flush()
        return traceStore != nil
    }

    /// Runs `body` on a thread that may wait for the disk, after recent trace entries were written.
    func current<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await DiskWork.run {
            flushTrace()
            return try body()
        }
    }

    /// Whether an event was accepted recently; false if unknown.
    func wasAccepted(_ event: EventID) -> Bool {
        isCause(event.array) || ((try? outbox.own.isCause(event.array)) ?? false)
    }
}

/// The access of commands to a router: the API of a running router, otherwise its files.
package struct RouterOrFiles {
    let configuration: Configuration

    package init(configuration: Configuration) {
        self.configuration = configuration
    }

    /// Nil if no router responds. Throws an ``OperationError`` with the router's message for an error response.
    func ask<Answer: OperatorAnswer>(
        _ method: String,
        _ path: String,
        _ parameters: [String: String]
    ) async throws -> Answer? {
        guard let client = try? APIClient(configuration: configuration) else { return nil }
        do {
            return try await client.answer(method, Self.target(path, parameters))
        } catch let failure as OperationError where failure.kind == .unreachable {
            return nil
        }
    }

    /// Like `ask`, for requests that require a running router. Throws an ``OperationError`` even if none responds.
    func require<Answer: OperatorAnswer>(
        _ method: String,
        _ path: String,
        _ parameters: [String: String],
        body: Data? = nil,
        toDo what: String
    ) async throws -> Answer {
        do {
            return try await APIClient(configuration: configuration)
                .answer(method, Self.target(path, parameters), body: body)
        } catch let failure as OperationError where failure.kind == .unreachable {
            throw OperationError.unreachable("only a running router can \(what): \(failure)")
        }
    }

    private static func target(_ path: String, _ parameters: [String: String]) -> String {
        let query = parameters.sorted { $0.key < $1.key }.map { name, value in
            name + "=" + (value.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")
        }
        return query.isEmpty ? path : path + "?" + query.joined(separator: "&")
    }

    /// Opens the files for changes. Throws an ``OperationError`` if a router has locked them.
    func files() throws -> OperatorAccess {
        do {
            return try OperatorAccess(configuration, for: .changing)
        } catch let error as StoreLockError where error.isOfStoreInUse {
            throw OperationError.unavailable(
                "\(error). It does not respond: wait a moment, or add api: to its configuration"
            )
        }
    }
}

extension APIClient {
    private struct ErrorResponse: Decodable {
        var detail: String
        /// The errors in rules.
        var mistakes: [String]?
    }

    /// Returns the content of the response. Throws an ``OperationError``: the router's message for an error response,
    /// unreachable if there is no response.
    package func answer<Content: OperatorAnswer>(
        _ method: String,
        _ target: String,
        body: Data? = nil
    ) async throws -> Content {
        let answer = try await ask(method, target, body: body)
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let received = Data(answer.body.utf8)
        if answer.status == 200, let content = try? decoder.decode(Content.self, from: received) { return content }
        let refusal = try? decoder.decode(ErrorResponse.self, from: received)
        let words = refusal.map { refusal in
            ([refusal.detail] + (refusal.mistakes ?? [])).joined(separator: "\n")
        }
        let text =
            words ?? "the router responded with status \(answer.status): check that it has the version of this command"
        switch answer.status {
        case 400: throw OperationError.invalid(text)
        case 404: throw OperationError.unknown(text)
        default: throw OperationError.unavailable(text)
        }
    }
}

/// Reads events, devices and users from the files, even while a router runs. A cluster member's files have only a part
/// of the data, so a running member is asked over its API.
extension RouterOrFiles {
    /// Throws an ``OperationError``, like all functions here.
    package func explain(_ event: String, recipient: String?) async throws -> EventExplanation {
        var parameters: [String: String] = [:]
        parameters["recipient"] = recipient
        if let answer: EventExplanation = try await member("/v1/events/\(Self.segment(event))/explain", parameters) {
            return answer
        }
        return try OperatorAccess(configuration, for: .reading).events.explain(event, recipient: recipient)
    }

    package func devices(account: String?, after previous: Int64?) async throws -> DeviceList {
        var parameters: [String: String] = [:]
        parameters["account"] = account
        parameters["after"] = previous.map { String($0) }
        if let answer: DeviceList = try await member("/v1/devices", parameters) { return answer }
        return try reading.list(account: account, after: previous)
    }

    package func device(_ device: Int64) async throws -> DeviceOverview {
        if let answer: DeviceOverview = try await member("/v1/devices/\(device)") { return answer }
        return try reading.show(device)
    }

    package func user(_ key: String) async throws -> UserOverview {
        if let answer: UserOverview = try await member("/v1/users/\(Self.segment(key))") { return answer }
        return try OperatorAccess(configuration, for: .reading).users.show(key)
    }

    /// Forgets a device: in the files, or while a router runs by its API, which must be configured.
    package func remove(_ device: Int64) async throws -> RemovedDevice {
        do {
            return try OperatorAccess(configuration, for: .changing).operations.remove(device)
        } catch let error as StoreLockError where error.isOfStoreInUse {
            guard configuration.api != nil else {
                throw OperationError.unavailable(
                    "a router runs here, and its configuration has no API to ask it by: stop it, or add api:"
                )
            }
            return try await APIClient(configuration: configuration).answer("DELETE", "/v1/devices/\(device)")
        }
    }

    /// Re-enables a device: by the running router, otherwise in the files.
    package func enable(_ device: Int64) async throws -> EnabledDevice {
        if let answer: EnabledDevice = try await ask("POST", "/v1/devices/\(device)/enable", [:]) {
            return answer
        }
        return try files().operations.enable(device)
    }

    /// Nil if the caller must read the files.
    private func member<Answer: OperatorAnswer>(
        _ path: String,
        _ parameters: [String: String] = [:]
    ) async throws -> Answer? {
        guard configuration.cluster != nil else { return nil }
        return try await ask("GET", path, parameters)
    }

    private var reading: DeviceOperations {
        get throws { try OperatorAccess(configuration, for: .reading).operations }
    }

    private static func segment(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }
}
