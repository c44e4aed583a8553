import Foundation
import GRDB
import Nostr
import Push

/// The values of a statement's placeholders.
struct RowArguments: ExpressibleByArrayLiteral {
    private let elements: [(any DatabaseValueConvertible)?]

    init(arrayLiteral elements: (any DatabaseValueConvertible)?...) { self.elements = elements }

    var statementArguments: StatementArguments { StatementArguments(elements) }
    var values: [DatabaseValue] { elements.map { $0?.databaseValue ?? .null } }
}

/// Records the statements of a transaction that change rows, so that other members can repeat them.
final class RegistryRecorder {
    private(set) var record: RegistryRecord

    init(id: String) { record = RegistryRecord(id: id) }

    func note(_ statement: Statement, _ sql: String, _ arguments: RowArguments) {
        guard !statement.isReadonly else { return }
        record.statements.append(RegistryRecord.Statement(sql, arguments.values))
    }

    /// Records the in-memory effects of the transaction.
    func note(_ changes: RegistryChanges) {
        record.note(changes)
    }
}

/// One transaction of the registry as it is replicated: its statements in order, with their values. All members apply
/// the same records in the same order to the same rows, and so have the same numbers of devices.
struct RegistryRecord: Codable, Hashable, Sendable {
    static let formatVersion = 1

    enum Value: Codable, Hashable, Sendable {
        case null
        case integer(Int64)
        case real(Double)
        case text(String)
        case blob(Data)

        private enum CodingKeys: String, CodingKey {
            case integer = "i"
            case real = "r"
            case text = "t"
            case blob = "b"
        }

        init(_ value: DatabaseValue) {
            self =
                switch value.storage {
                case .null: .null
                case .int64(let number): .integer(number)
                case .double(let number): .real(number)
                case .string(let text): .text(text)
                case .blob(let data): .blob(data)
                }
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            if let number = try container.decodeIfPresent(Int64.self, forKey: .integer) {
                self = .integer(number)
            } else if let number = try container.decodeIfPresent(Double.self, forKey: .real) {
                self = .real(number)
            } else if let text = try container.decodeIfPresent(String.self, forKey: .text) {
                self = .text(text)
            } else if let data = try container.decodeIfPresent(Data.self, forKey: .blob) {
                self = .blob(data)
            } else {
                self = .null
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            switch self {
            case .null: break
            case .integer(let number): try container.encode(number, forKey: .integer)
            case .real(let number): try container.encode(number, forKey: .real)
            case .text(let text): try container.encode(text, forKey: .text)
            case .blob(let data): try container.encode(data, forKey: .blob)
            }
        }

        var databaseValue: DatabaseValue {
            switch self {
            case .null: .null
            case .integer(let number): number.databaseValue
            case .real(let number): number.databaseValue
            case .text(let text): text.databaseValue
            case .blob(let data): data.databaseValue
            }
        }
    }

    struct Statement: Codable, Hashable, Sendable {
        var sql: String
        var values: [Value]

        init(_ sql: String, _ values: [DatabaseValue]) {
            self.sql = sql
            self.values = values.map(Value.init)
        }
    }

    /// A device whose entry in indexes must be updated.
    struct TouchedDevice: Codable, Hashable, Sendable {
        var device: Int64
        /// In hexadecimal digits.
        var account: String
        var isElsewhere: Bool
    }

    var version = Self.formatVersion
    /// Unique for each record.
    var id: String
    /// The log position of the record before it.
    var after: UInt64 = 0
    var statements: [Statement] = []
    var devices: [TouchedDevice] = []
    /// Accounts whose keys for messages changed, in hexadecimal digits.
    var messageKeys: [String] = []
    /// Keys whose data for account watch changed, in hexadecimal digits.
    var keys: [String] = []

    init(id: String) { self.id = id }

    /// Whether access rules may have changed.
    var concernsAccess: Bool {
        statements.contains { $0.sql.contains("access_rules") || $0.sql.contains("used_secrets") }
    }

    fileprivate mutating func note(_ changes: RegistryChanges) {
        for change in changes.index {
            switch change {
            case .put(let device):
                devices.append(
                    TouchedDevice(
                        device: device.device.rawValue,
                        account: device.account.hex,
                        isElsewhere: device.isElsewhere
                    )
                )
            case .remove(let device, let account):
                devices.append(TouchedDevice(device: device.rawValue, account: account.hex, isElsewhere: false))
            case .messageKeys(_, let account): messageKeys.append(account.hex)
            }
        }
        keys = changes.keys.map(\.hex).sorted()
    }

    func bytes() throws -> [UInt8] { Array(try JSONEncoder().encode(self)) }

    /// Throws a ``RegistryStoreError`` if the bytes are not a valid record or have a later version.
    init(_ bytes: [UInt8]) throws {
        guard let record = try? JSONDecoder().decode(RegistryRecord.self, from: Data(bytes)),
            record.version == Self.formatVersion
        else { throw RegistryStoreError.unreadableRecord }
        self = record
    }
}
