import Push
import Testing

@Suite struct DeviceIDTests {
    /// The registry counts devices; those of other ranges are tried tokens.
    @Test(arguments: [0, -5_000, 1 << 40]) func hashesDifferForConsecutiveNumbers(first: Int64) {
        let devices = (first..<first + 4_096).map { DeviceID(rawValue: $0) }
        for seed in [0, 1, -1, 0x5555_5555_5555_5555] {
            #expect(Set(devices.map { $0._rawHashValue(seed: seed) & 0xFFF }).count > 2_000)
        }
        let set = Set(devices)
        #expect(set.count == 4_096 && devices.allSatisfy(set.contains))
        #expect(!set.contains(DeviceID(rawValue: first + 4_096)))
    }

    /// Numbers may all be multiples of something.
    @Test(arguments: [2, 64, 1_024, 65_536, 1 << 32]) func hashesDifferForMultiples(of factor: Int64) {
        let devices = (0..<4_096 as Range<Int64>).map { DeviceID(rawValue: $0 * factor) }
        #expect(Set(devices.map { $0._rawHashValue(seed: 7) & 0xFFF }).count > 2_000)
    }
}
