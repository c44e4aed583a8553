import GRDB

/// The tables, and how they came to be: each migration in a file of its own, in the order they are run. One that was
/// published is never changed; a new one is added.
enum RegistrySchema {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1 devices, tombstones, events, follows") { try $0.execute(sql: devices) }
        migrator.registerMigration("2 identities, lists, partners") { try $0.execute(sql: identities) }
        migrator.registerMigration("3 watched keys") { try $0.execute(sql: watch) }
        migrator.registerMigration("4 remote sessions") { try $0.execute(sql: remoteSessions) }
        migrator.registerMigration("5 first registrations") { try $0.execute(sql: beginnings) }
        migrator.registerMigration("6 owners of message keys") { try $0.execute(sql: messageKeyOwners) }
        migrator.registerMigration("7 languages, sealing keys") { try $0.execute(sql: languages) }
        migrator.registerMigration("8 devices of the sealed ingress") { try $0.execute(sql: ingressDevices) }
        migrator.registerMigration("9 whom accounts follow") { try $0.execute(sql: followed) }
        migrator.registerMigration("10 gone devices of the sealed ingress") { try $0.execute(sql: goneIngressDevices) }
        migrator.registerMigration("11 wishes of devices, lists of recipients") { db in
            try db.execute(sql: wishes)
            try db.execute(sql: recipientLists)
        }
        migrator.registerMigration("12 unproven and reached devices, grace, chosen targets") { db in
            try db.execute(sql: unprovenDevices)
            try db.execute(sql: deviceGrace)
            try db.execute(sql: chosenTargets)
            try db.execute(sql: reached)
        }
        return migrator
    }
}
