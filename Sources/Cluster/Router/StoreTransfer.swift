import CarillonRouter
import Core
import Delivery
import Foundation
import Logging
import Nostr
import Operations
import Push
import Registry
import Relays
import RouterConfiguration

/// Converts a single router's store to a cluster, and back. Stop the router and all members before. After an
/// interruption, run the same command to continue.
package struct StoreTransfer: Sendable {
    /// The transferred amounts.
    package struct Report: Sendable {
        package var waiting = 0
        package var held = 0
        package var deadLetters = 0
        package var relays = 0
        /// Deliveries that were omitted because their devices are no longer registered.
        package var leftOut = 0
        /// Whether an earlier run had completed it.
        package var wasDone = false
    }

    /// Takes one line about the current step.
    package typealias Progress = @Sendable (String) -> Void

    /// The interest bits of a key that relays are asked about.
    private static let bitsAsked: UInt8 = 3

    private let configuration: Configuration
    private let progress: Progress
    private let logger = Logger(label: "carillon.transfer") { _ in SwiftLogNoOpLogHandler() }

    package init(_ configuration: Configuration, progress: @escaping Progress) {
        self.configuration = configuration
        self.progress = progress
    }

    /// Converts the store to a cluster. Throws an `OperationError` with the obstacle.
    package func adopt() async throws -> Report { try await said { try await self.adoptStore() } }

    /// Converts the cluster to a store. Throws an `OperationError` with the obstacle.
    package func export() async throws -> Report { try await said { try await self.exportCluster() } }

    /// Converts a member's store to a single router's, if the servers have lost the cluster: keeps registrations, loses
    /// queued deliveries. Throws an `OperationError`.
    package func rescue() async throws { _ = try await said { try await self.rescueStore() } }

    private func rescueStore() async throws -> Report {
        let claim = try StoreClaim(configuration, logger: logger)
        defer { claim.release() }
        let store = try RegistryStore(path: configuration.store.path)
        guard try store.transfer() == nil, try store.position() != nil else {
            throw OperationError.unavailable("the store is no cluster member's: run this where a member's store is")
        }
        progress("looking for the cluster")
        var isThere = false
        do {
            if let link = try await ClusterLink.join(configuration, claim, isTransfer: true, logger: logger) {
                let snapshots = RegistrySnapshots(link)
                let result = try? await onDisk(.default) { try snapshots.logState().last }
                await link.close()
                isThere = try result ?? 0 >= store.position() ?? 0
            }
        } catch {
            progress("the servers do not answer as a cluster's: \(error)")
        }
        guard !isThere else {
            throw OperationError.unavailable("the servers have the cluster: carillon cluster export moves all of it")
        }
        try store.endSharing(marks: [:])
        store.settle()
        return Report()
    }

    private func said(_ body: () async throws -> Report) async throws -> Report {
        do {
            return try await body()
        } catch let failure as OperationError {
            throw failure
        } catch {
            throw OperationError.unavailable("\(error)")
        }
    }

    private func link(_ claim: StoreClaim) async throws -> ClusterLink {
        guard let link = try await ClusterLink.join(configuration, claim, isTransfer: true, logger: logger) else {
            throw OperationError.unavailable(
                "there is no block 'cluster' in the configuration; the manual's page on scaling has an example"
            )
        }
        return link
    }

    /// The ID of the transfer that this store has started, or a new one.
    private func id(_ kind: TransferRecord.Kind, _ store: RegistryStore) throws -> (id: String, isKnown: Bool) {
        guard let known = try store.transfer() else { return ("\(kind.rawValue)-\(DeliveryIDs.fresh())", false) }
        guard known.hasPrefix(kind.rawValue + "-") else {
            let other = kind == .adopt ? "export" : "adopt"
            throw OperationError.unavailable(
                "the store is in the middle of carillon cluster \(other): finish that first"
            )
        }
        return (known, true)
    }

    private func formerKey(_ store: RegistryStore, _ claim: StoreClaim) throws -> KeyPair? {
        let keys = RouterKeyStore(store)
        return try keys.table().former.flatMap { try keys.pair(of: $0.key, by: claim.identity) }
    }

    // MARK: Store to cluster

    private func adoptStore() async throws -> Report {
        guard FileManager.default.fileExists(atPath: configuration.store.path) else {
            throw OperationError.unavailable("there is no store at \(configuration.store.path)")
        }
        let claim = try StoreClaim(configuration, logger: logger)
        defer { claim.release() }
        let store = try RegistryStore(path: configuration.store.path)
        let (id, isKnown) = try id(.adopt, store)
        guard try isKnown || store.position() == nil else {
            throw OperationError.unavailable("the store is a cluster member's already")
        }
        var link = try await link(claim)
        let formerSeal = try formerKey(store, claim).map { MemberSeal(secret: $0.secret.reveal()) }
        var transfer = ClusterTransfer(link.settings.layout, link.line, formerSeal: formerSeal)
        do {
            if try await transfer.emptied(for: id) {
                await link.close()
                link = try await self.link(claim)
                transfer = ClusterTransfer(link.settings.layout, link.line)
            }
            try store.beginTransfer(id)
            var report = Report()
            if try await transfer.begin(.adopt, id: id) {
                report.wasDone = true
            } else {
                report = try await fill(link, transfer, id, store)
                try await transfer.end(.adopt, id: id)
            }
            try store.endTransfer()
            store.settle()
            await link.close()
            return report
        } catch {
            await link.close()
            throw error
        }
    }

    private func fill(
        _ link: ClusterLink,
        _ transfer: ClusterTransfer,
        _ id: String,
        _ store: RegistryStore
    ) async throws -> Report {
        progress("the registry")
        try await onDisk(.default) { [self] in try shareRegistry(store, link, id) }
        let outbox = try Outbox(
            path: configuration.store.outboxPath,
            limit: configuration.store.maxWaiting,
            deadLetters: configuration.deadLetters
        )
        var partitions: [DeviceID: Int] = [:]
        try store.forEachAccount { partitions[$0] = link.partitioning.partition(of: $1) }
        let parts = PartitionedOutbox(
            outbox,
            partitions,
            of: link.partitioning.partitions,
            limits: link.settings.log.limits
        )
        var report = Report()
        let (groups, leftOut) = try parts.groups()
        report.leftOut = leftOut
        for group in groups {
            var states = try parts.states(of: group)
            let marks = try store.relayMarks()
            for (url, mark) in marks {
                guard let relay = RelayURL(url) else { continue }
                let partition = link.partitioning.partition(of: relay)
                guard group.contains(partition) else { continue }
                report.relays += 1
                states[partition]?.relays[relay.text] = mark
            }
            for partition in group {
                guard let state = states.removeValue(forKey: partition) else { continue }
                report.waiting += state.waiting.count
                report.held += state.held.count
                report.deadLetters += state.deadLetters.count
                progress(
                    "partition \(partition + 1) of \(link.partitioning.partitions): \(state.waiting.count) deliveries"
                )
                try await transfer.store(state, in: partition)
            }
        }
        // From here on the deliveries belong to the cluster.
        try OutboxTransfer(outbox).dropEverything { partitions[$0] != nil }
        outbox.settle()
        return report
    }

    /// Stores the registry as the first change and snapshot of the cluster's registry. Blocks.
    private func shareRegistry(_ store: RegistryStore, _ link: ClusterLink, _ id: String) throws {
        guard let position = try RegistryStream(link).append(RegistryStore.emptyChange(id), id: id, after: 0) else {
            throw TransferError.notEmpty
        }
        try store.beginSharing(at: position, asked: Self.bitsAsked)
        let file = SharedFile.path(besides: store.path)
        defer { try? SharedFile.remove(file) }
        _ = try store.writeShared(to: file)
        try RegistrySnapshots(link).keep(file, at: position, name: id)
    }

    // MARK: Cluster to store

    private func exportCluster() async throws -> Report {
        let claim = try StoreClaim(configuration, logger: logger)
        defer { claim.release() }
        let store = try RegistryStore(path: configuration.store.path)
        let (id, isKnown) = try id(.export, store)
        guard try isKnown || store.position() != nil else {
            throw OperationError.unavailable("the store is no cluster member's: run this where a member's store is")
        }
        let link = try await link(claim)
        do {
            let report = try await exportCluster(link, store, id)
            await link.close()
            return report
        } catch {
            await link.close()
            throw error
        }
    }

    private func exportCluster(
        _ link: ClusterLink,
        _ store: RegistryStore,
        _ id: String
    ) async throws -> Report {
        let transfer = ClusterTransfer(link.settings.layout, link.line)
        try store.beginTransfer(id)
        var report = Report()
        report.wasDone = try await transfer.begin(.export, id: id)
        let files = ExportedOutbox(configuration.store.outboxPath)
        if !report.wasDone {
            progress("waiting until no member lives")
            do {
                try await transfer.requireNoLiveMembers()
            } catch {
                try await transfer.abandon()
                try store.endTransfer()
                throw error
            }
            if try store.position() != nil {
                progress("the registry")
                try await onDisk(.default) { try store.takeAllChanges(of: RegistryStream(link)) }
                let marks = try await fill(files, link, transfer, &report)
                try files.use()
                try store.endSharing(marks: marks)
            }
            try await transfer.end(.export, id: id)
        }
        files.removeFormer()
        try store.endTransfer()
        store.settle()
        return report
    }

    private func fill(
        _ files: ExportedOutbox,
        _ link: ClusterLink,
        _ transfer: ClusterTransfer,
        _ report: inout Report
    ) async throws -> [String: Int64] {
        // Migrates the tables to this version before the copy.
        try Outbox(path: files.present).settle()
        let outbox = try Outbox(
            path: try files.begin(),
            limit: configuration.store.maxWaiting,
            deadLetters: configuration.deadLetters
        )
        var marks: [String: Int64] = [:]
        var causes: Set<[UInt8]> = []
        for partition in 0..<link.partitioning.partitions {
            let state = try await transfer.state(of: partition)
            progress("partition \(partition + 1) of \(link.partitioning.partitions): \(state.waiting.count) deliveries")
            try OutboxTransfer(outbox).add(state.storedWaiting)
            try OutboxTransfer(outbox).addDeadLetters(state.storedLetters)
            let new = state.knownCauses.filter { causes.insert($0).inserted }
            try outbox.insert([], causes: new, pace: state.storedPaces) { _ in }
            marks.merge(state.relays) { max($0, $1) }
            report.waiting += state.waiting.count
            report.held += state.held.count
            report.deadLetters += state.deadLetters.count
            report.relays += state.relays.count
        }
        outbox.settle()
        return marks
    }
}
