import GRDB
import Storage

extension RenewableFile {
    /// Whether another program's database is at its place. Changes nothing; what is damaged passes for ours.
    var isForeign: Bool {
        get throws {
            var configuration = Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(1)
            do {
                let queue = try DatabaseQueue(path: path, configuration: configuration)
                defer { try? queue.close() }
                return try queue.read(state) == .foreign
            } catch let error as DatabaseError where error.isDamage {
                return false
            }
        }
    }
}
