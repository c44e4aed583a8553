import GRDB

/// What a database of Carillon's is for, as far as that matters for opening it and for what is said when it cannot be.
package struct StoreKind: Sendable {
    /// As it is called in a sentence, such as "the registry".
    package let name: String
    /// What is lost by whoever begins with an empty one: the end of a sentence.
    package let costOfLoss: String
    /// How its tables came to be. Its identifiers tell a file of this kind from others.
    package let migrator: DatabaseMigrator
    /// Puts right what belongs together, in one that was saved from a damaged one and lacks rows.
    let mend: @Sendable (Database) throws -> Void

    package init(
        name: String,
        costOfLoss: String,
        migrator: DatabaseMigrator,
        mend: @escaping @Sendable (Database) throws -> Void = { _ in }
    ) {
        self.name = name
        self.costOfLoss = costOfLoss
        self.migrator = migrator
        self.mend = mend
    }
}
