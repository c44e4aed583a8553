import GRDB

extension StoreFile {
    /// Opens a database that a router may be writing to, and changes nothing in it. Nothing is looked through, as whoever writes
    /// did that.
    ///
    /// Throws a ``StoreFault`` when there is none, and for what is damaged, another program's or another version's.
    package func openForReading(_ configuration: Configuration) throws -> DatabasePool {
        try naming {
            guard try exists() else { throw fault(.cannotOpen("there is none yet")) }
            try rollBackInterruptedTransaction()
            var configuration = configuration
            configuration.readonly = true
            let pool = try DatabasePool(path: path, configuration: configuration)
            try pool.read { database in
                try StoreInspection(self).refuseStranger(database)
                guard try kind.migrator.hasCompletedMigrations(database) else { throw fault(.older) }
            }
            return pool
        }
    }
}
