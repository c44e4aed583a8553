import Delivery
import Foundation
import Registry
import Storage

/// Saves what can be read of damaged databases into new files beside them.
package struct StoreSaving {
    /// What became of one of them.
    package struct Report: Sendable {
        package let path: String
        package let name: String
        /// Nil where nothing is wrong with it, and nothing was to be done.
        package let rescued: String?
        package let tables: [StoreRescue.Table]
    }

    private let configuration: Configuration

    package init(configuration: Configuration) {
        self.configuration = configuration
    }

    /// Nobody may write meanwhile: throws a `RouterError` while a router runs on them, and a `StoreFault` where not even
    /// the names of the tables can be read.
    package func run() throws -> [Report] {
        let lock = try StoreLock(store: configuration.storePath)
        return try withExtendedLifetime(lock) {
            try [(configuration.storePath, RegistryStore.kind), (configuration.outboxPath, Outbox.kind)].map(save)
        }
    }

    private func save(_ path: String, _ kind: StoreKind) throws -> Report {
        let file = StoreFile(path: path, kind: kind)
        guard try isDamaged(file) else { return Report(path: path, name: kind.name, rescued: nil, tables: []) }
        let rescued = path + "-rescued"
        return Report(path: path, name: kind.name, rescued: rescued, tables: try StoreRescue(file).save(to: rescued))
    }

    private func isDamaged(_ file: StoreFile) throws -> Bool {
        do {
            return try !StoreInspection(file).thoroughFindings().isEmpty
        } catch let fault as StoreFault {
            guard case .damaged = fault.cause else { throw fault }
            return true
        }
    }
}
