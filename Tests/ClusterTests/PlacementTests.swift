import RouterConfiguration
import Testing

@testable import Cluster

/// The owner of each partition.
struct PlacementTests {
    private let members = ["a", "b", "c", "d"].compactMap { MemberName($0) }

    /// From the paper: the key 00…0f, and the message 00…0e.
    @Test func theHashIsSipHash() {
        let key: (UInt64, UInt64) = (0x0706_0504_0302_0100, 0x0F0E_0D0C_0B0A_0908)
        #expect(SipHash.hash(Array(0..<15), key: key) == 0xA129_CA61_49BE_45E5)
    }

    @Test func aMemberThatGoesMovesOnlyItsShare() {
        let before = (0..<32).map { Placement.owner(of: $0, among: members) }
        let left = Array(members.dropLast())
        let after = (0..<32).map { Placement.owner(of: $0, among: left) }
        for partition in 0..<32 where before[partition] != members.last {
            #expect(after[partition] == before[partition])
        }
        #expect(Set(before.compactMap(\.self)).count == 4)
        #expect(before == (0..<32).map { Placement.owner(of: $0, among: members.reversed()) })
    }

    /// These must never change, or accounts would be looked up in wrong partitions.
    @Test func partitionsOfAccountsAreFixed() throws {
        let partitioning = try #require(Partitioning(partitions: 32, key: Array(0..<16)))
        let accounts = (0..<4).map { number in [UInt8](repeating: UInt8(number), count: 32) }
        #expect(accounts.map { partitioning.partition(of: $0) } == [20, 27, 6, 9])
        #expect(Partitioning(partitions: 0, key: Array(0..<16)) == nil)
        #expect(Partitioning(partitions: 32, key: Array(0..<15)) == nil)
    }

    @Test(arguments: ["", "a b", "ä", "a.b", ">", String(repeating: "a", count: 65)])
    func namesArePartsOfSubjects(_ text: String) { #expect(MemberName(text) == nil) }
}
