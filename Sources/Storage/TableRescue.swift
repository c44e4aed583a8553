import GRDB

/// Copies the rows of one table out of a damaged database: from its beginning, from its end, and from behind what cannot be read.
struct TableRescue {
    private let name: String
    private let columns: [String]
    private let key: [String]
    private let hasRowIDs: Bool

    /// `target` has the table as it should be.
    init(_ name: String, in target: Database) throws {
        self.name = name
        let all = try Row.fetchAll(target, sql: "PRAGMA table_xinfo(\(name))")
        // Generated ones are hidden.
        columns = all.filter { ($0["hidden"] as Int) == 0 }.map { $0["name"] }
        key = all.filter { ($0["pk"] as Int) > 0 }.sorted { ($0["pk"] as Int) < ($1["pk"] as Int) }.map { $0["name"] }
        hasRowIDs = (try? target.makeStatement(sql: "SELECT rowid FROM \(name)")) != nil
    }

    func copy(from source: Database, to target: Database) throws -> StoreRescue.Table {
        let list = columns.joined(separator: ", ")
        let places = columns.map { _ in "?" }.joined(separator: ", ")
        let insert = try target.makeStatement(sql: "INSERT OR IGNORE INTO \(name) (\(list)) VALUES (\(places))")
        let isWhole =
            hasRowIDs
            ? try byRowID(source, list, insert)
            : try inKeyOrder(source, list, insert, "ASC")
        if !isWhole, !hasRowIDs { _ = try inKeyOrder(source, list, insert, "DESC") }
        let rows = try Int.fetchOne(target, sql: "SELECT count(*) FROM \(name)") ?? 0
        return StoreRescue.Table(name: name, rows: rows, isWhole: isWhole)
    }

    private func inKeyOrder(_ source: Database, _ list: String, _ insert: Statement, _ order: String) throws -> Bool {
        let keys = key.map { "\($0) \(order)" }.joined(separator: ", ")
        return try attempt {
            let rows = try Row.fetchCursor(source, sql: "SELECT \(list) FROM \(name) ORDER BY \(keys)")
            while let row = try rows.next() { try put(row, from: 0, insert) }
        }
    }

    private func byRowID(_ source: Database, _ list: String, _ insert: Statement) throws -> Bool {
        let forward = try walk(
            source,
            insert,
            from: 0,
            by: 1,
            "SELECT rowid, \(list) FROM \(name) WHERE rowid > ? ORDER BY rowid"
        )
        guard !forward else { return true }
        let backward = "SELECT rowid, \(list) FROM \(name) WHERE rowid < ? ORDER BY rowid DESC"
        _ = try walk(source, insert, from: .max, by: -1, backward)
        return false
    }

    /// Goes on behind what cannot be read, further away each time until something can be; true when all could. Numbers are
    /// positive.
    private func walk(
        _ source: Database,
        _ insert: Statement,
        from start: Int64,
        by direction: Int64,
        _ sql: String
    ) throws -> Bool {
        var isWhole = true
        var place = start
        var step = direction
        while true {
            let isThrough = try attempt {
                let rows = try Row.fetchCursor(source, sql: sql, arguments: [place])
                while let row = try rows.next() {
                    try put(row, from: 1, insert)
                    let number: Int64 = row[0]
                    // Never back, whatever is written there.
                    place = direction > 0 ? max(place, number) : min(place, number)
                    step = direction
                }
            }
            if isThrough { return isWhole }
            isWhole = false
            let (next, isBeyond) = place.addingReportingOverflow(step)
            let (wider, isTooWide) = step.multipliedReportingOverflow(by: 2)
            guard !isBeyond, !isTooWide, next >= 0 else { return false }
            (place, step) = (next, wider)
        }
    }

    /// A row that the table does not take is none of ours.
    private func put(_ row: Row, from first: Int, _ insert: Statement) throws {
        do {
            try insert.execute(arguments: StatementArguments(row.databaseValues.dropFirst(first)))
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            return
        } catch let error as DatabaseError {
            throw TargetFailure(error: error)
        }
    }

    /// What the target has to complain of is not the source's damage.
    private struct TargetFailure: Error {
        let error: DatabaseError
    }

    private func attempt(_ body: () throws -> Void) throws -> Bool {
        do {
            try body()
            return true
        } catch let failure as TargetFailure {
            throw failure.error
        } catch is DatabaseError {
            return false
        }
    }
}
