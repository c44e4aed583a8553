import Delivery
import Foundation
import Registry
import RouterConfiguration
import Storage

/// Saves what can be read of damaged databases into new files beside them.
package struct StoreSaving {
    /// What became of one of them.
    package struct Report: Sendable {
        package let path: String
        /// As in "the registry".
        package let name: String
        package let outcome: Outcome

        /// What an operator runs to put what was saved in the damaged one's place, which is kept; none where nothing
        /// was.
        package var commands: [String] {
            guard case .saved(let rescued, _) = outcome else { return [] }
            let hasLog = FileManager.default.fileExists(atPath: path + "-wal")
            return [move(path, to: path + "-damaged")]
                + (hasLog ? [move(path + "-wal", to: path + "-damaged-wal")] : [])
                // It only says where what is in the log.
                + ["rm -f \(ShellWord.quoted(path + "-shm"))", move(rescued, to: path)]
        }

        private func move(_ old: String, to new: String) -> String {
            "mv \(ShellWord.quoted(old)) \(ShellWord.quoted(new))"
        }
    }

    package enum Outcome: Sendable {
        case notThere
        /// Nothing is wrong with it, and nothing was done.
        case sound
        case saved(into: String, tables: [StoreRescue.Table])
        /// Nothing was saved; why, and the ways out that are left.
        case failed(String)
    }

    private let configuration: Configuration

    package init(configuration: Configuration) {
        self.configuration = configuration
    }

    /// One report for each, as what stands against saving one says nothing of the other. Nobody may write meanwhile:
    /// throws a `StoreLockError` while a router runs on them.
    package func run() throws -> [Report] {
        let lock = try StoreLock(store: configuration.storePath)
        return withExtendedLifetime(lock) {
            [(configuration.storePath, RegistryStore.kind), (configuration.outboxPath, Outbox.kind)].map(report)
        }
    }

    private func report(_ path: String, _ kind: StoreKind) -> Report {
        let file = StoreFile(path: path, kind: kind)
        let outcome: Outcome
        do {
            outcome = try save(file)
        } catch let fault as StoreFault {
            outcome = .failed(fault.descriptionAfterRescue)
        } catch {
            outcome = .failed("\(kind.name) \(path): \(error)")
        }
        return Report(path: path, name: kind.name, outcome: outcome)
    }

    private func save(_ file: StoreFile) throws -> Outcome {
        guard try file.exists() else {
            if file.path == configuration.storePath, let fault = try? LostRegistry.fault(configuration) { throw fault }
            return .notThere
        }
        guard try isDamaged(file) else { return .sound }
        let rescued = file.path + "-rescued"
        return .saved(into: rescued, tables: try StoreRescue(file).save(to: rescued))
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
