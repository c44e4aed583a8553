extension JSONObject {
    /// All bitcoin there will ever be.
    private static var mostSatoshis: Int64 { 2_100_000_000_000_000 }

    /// An amount under `key`, written in satoshis, in thousandths of one; nil when the key is absent or empty (null).
    public func satoshis(_ key: StaticString) throws(PluginError) -> UInt64? {
        try integer(key, in: 0...JSONObject.mostSatoshis).map { UInt64($0) * 1000 }
    }
}
