import GRDB

/// The rows of the registry within one access to its database. Statements are prepared once a connection.
package struct RegistryRows {
    let db: Database

    init(_ db: Database) {
        self.db = db
    }

    func execute(_ sql: String, _ arguments: StatementArguments = StatementArguments()) throws {
        try db.cachedStatement(sql: sql).execute(arguments: arguments)
    }

    func one(_ sql: String, _ arguments: StatementArguments = StatementArguments()) throws -> Row? {
        try Row.fetchOne(db.cachedStatement(sql: sql), arguments: arguments)
    }

    func all(_ sql: String, _ arguments: StatementArguments = StatementArguments()) throws -> [Row] {
        try Row.fetchAll(db.cachedStatement(sql: sql), arguments: arguments)
    }
}
