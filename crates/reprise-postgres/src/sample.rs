//! A few things of a large shelf say how its vectors lie and which words are frequent there. The
//! mean and the second moments say how cosines spread over many vectors, whatever the question: so
//! the sample may be large and a question pays the same.

use std::collections::HashMap;

use deadpool_postgres::Transaction;
use reprise_engine::Spread;
use reprise_global::backend::run_on_lent_thread;
use reprise_types::dot;

use super::connect::Failure;
use super::sql::row;

/// A shelf of no more things has no index of its own, and no word in it is too common to look for.
pub(super) const SMALL: u32 = 4_096;
/// Vectors that tell how cosines spread. Where one in two hundred is about the question, twenty of
/// these are: they make most of the deviation.
const SAMPLE: i64 = 4_096;
const ENOUGH: usize = 128;
/// Things whose words tell which words are frequent.
const READ: i64 = 1_024;
/// Of these so many hold a frequent word at least: what one or two hold may be in no other.
const SEEN_MIN: i64 = 4;

/// A table is sampled by chance if it holds at most so many times the rows of the shelf.
const TABLE_TO_SHELF_MAX: f64 = 8.0;

/// Which rows of a shelf are looked at.
#[derive(Debug, Clone, Copy, PartialEq)]
enum SampleMethod {
    /// Those of so many percent of the table's pages, of any shelf.
    Pages(f64),
    /// The first ones by the shelf's key.
    Key,
}

impl SampleMethod {
    /// How so many rows of a shelf are found, in a table of about so many; of an unknown number it
    /// says none. Pages by chance where the shelf is much of its table, for others' are read with
    /// them; then, and where these gave too few, by the key. Every node takes the same, and gives
    /// the same scores.
    fn of(rows: i64, things: u32, table_rows: f64) -> Vec<Self> {
        let things = f64::from(things);
        let by_chance = table_rows > 0.0 && things * TABLE_TO_SHELF_MAX >= table_rows;
        let percent = (110.0 * rows as f64 / things).min(100.0);
        let by_chance = by_chance.then_some(Self::Pages(percent));
        by_chance.into_iter().chain([Self::Key]).collect()
    }

    /// The end of a statement, from its table on: the shelf is its first argument, and how many
    /// rows the second.
    fn from(self, table: &str, more: &str) -> String {
        let (chance, order) = match self {
            Self::Pages(percent) => (
                format!("TABLESAMPLE SYSTEM ({percent:.4}) REPEATABLE (1)"),
                "",
            ),
            Self::Key => (String::new(), "ORDER BY id"),
        };
        format!(
            "FROM reprise_global.{table} {chance} \
             WHERE shelf = $1 AND until IS NULL {more} {order} LIMIT $2"
        )
    }

    fn words(self) -> String {
        let some = self.from("thing", "");
        format!(
            "WITH sample AS MATERIALIZED (SELECT tokens {some}), \
             word AS MATERIALIZED (SELECT token, count(*) \
             FROM sample, unnest(tokens) AS token GROUP BY token \
             HAVING count(*) >= {SEEN_MIN} \
             AND count(*) * $3::int8 > {SMALL} * (SELECT count(*) FROM sample)) \
             SELECT (SELECT count(*) FROM sample), \
             ARRAY(SELECT token FROM word), ARRAY(SELECT count FROM word)"
        )
    }

    fn vectors(self) -> String {
        let some = self.from("search", "AND embedding IS NOT NULL");
        format!("SELECT embedding::real[] {some}")
    }
}

/// About how many rows stand in a table, of all shelves and versions; nothing where nobody knows.
async fn table_rows(transaction: &Transaction<'_>, table: &str) -> Result<f64, Failure> {
    let statement = "SELECT reltuples::float8 FROM pg_class WHERE oid = to_regclass($1)";
    let table = format!("reprise_global.{table}");
    let row = row(transaction, statement, &[&table]).await?;
    Ok(row.map_or(0.0, |row| row.get(0)))
}

/// Lists the statements that sample a shelf, each with its title.
pub(super) fn statements() -> [(&'static str, String); 2] {
    [
        ("frequent words", SampleMethod::Key.words()),
        ("some vectors", SampleMethod::Key.vectors()),
    ]
}

/// About how many things of a shelf hold each word that more than [`SMALL`] seem to hold: to count
/// them would read all of their rows. Of the others a count ends soon.
pub(super) async fn frequent(
    transaction: &Transaction<'_>,
    shelf: &str,
    things: u32,
) -> Result<HashMap<i64, u32>, Failure> {
    let mut words = HashMap::new();
    if things <= SMALL {
        return Ok(words);
    }
    let table_rows = table_rows(transaction, "thing").await?;
    for way in SampleMethod::of(READ, things, table_rows) {
        // Not kept prepared: the share of pages in its text is seldom the same twice.
        let row = transaction
            .query_one(&way.words(), &[&shelf, &READ, &i64::from(things)])
            .await?;
        let (read, tokens, counts): (i64, Vec<i64>, Vec<i64>) =
            (row.get(0), row.get(1), row.get(2));
        let all = f64::from(things) / read.max(1) as f64;
        let counts = counts.iter().map(|count| (*count as f64 * all) as u32);
        words = tokens.into_iter().zip(counts).collect();
        if usize::try_from(read).is_ok_and(|read| read >= ENOUGH) {
            break;
        }
    }
    Ok(words)
}

/// Computes the moments of a sample of a shelf's vectors; `None` for a small shelf.
pub(super) async fn moments(
    transaction: &Transaction<'_>,
    shelf: &str,
    things: u32,
) -> Result<Option<Moments>, Failure> {
    if things <= SMALL {
        return Ok(None);
    }
    let mut sample: Vec<Vec<f32>> = Vec::new();
    let table_rows = table_rows(transaction, "search").await?;
    for way in SampleMethod::of(SAMPLE, things, table_rows) {
        let rows = transaction
            .query(&way.vectors(), &[&shelf, &SAMPLE])
            .await?;
        sample = rows.iter().map(|row| row.get(0)).collect();
        if sample.len() >= ENOUGH {
            break;
        }
    }
    Ok(run_on_lent_thread(move || Moments::of(&sample)).await?)
}

/// The first two moments of a sample of vectors.
#[derive(Debug)]
pub(super) struct Moments {
    count: u32,
    mean: Vec<f32>,
    /// The lower triangle of the mean of every vector's product with itself, row by row.
    second: Vec<f32>,
}

impl Moments {
    /// Computes the moments; `None` without vectors.
    fn of(sample: &[Vec<f32>]) -> Option<Self> {
        let length = sample.first()?.len();
        let mut mean = vec![0.0_f32; length];
        let mut second = vec![0.0_f32; length * (length + 1) / 2];
        for vector in sample {
            let mut rest = second.as_mut_slice();
            for (at, one) in vector.iter().enumerate() {
                let (row, below) = rest.split_at_mut((at + 1).min(rest.len()));
                for (sum, other) in row.iter_mut().zip(vector) {
                    *sum += one * other;
                }
                rest = below;
            }
            for (sum, one) in mean.iter_mut().zip(vector) {
                *sum += one;
            }
        }
        let count = sample.len() as f32;
        for sum in mean.iter_mut().chain(&mut second) {
            *sum /= count;
        }
        Some(Self {
            count: u32::try_from(sample.len()).unwrap_or(u32::MAX),
            mean,
            second,
        })
    }

    /// The mean of the cosines with a unit vector, and that of their squares.
    fn cosines_with(&self, vector: &[f32]) -> (f64, f64) {
        let mean = dot(&self.mean, vector);
        let mut rest = self.second.as_slice();
        let mut squares = 0.0_f64;
        for (at, one) in vector.iter().enumerate() {
            let (row, below) = rest.split_at((at + 1).min(rest.len()));
            let (diagonal, row) = row.split_last().unwrap_or((&0.0, &[]));
            let others = dot(row, vector.get(..at).unwrap_or_default());
            squares += f64::from(one * (2.0 * others + one * diagonal));
            rest = below;
        }
        (f64::from(mean), squares)
    }
}

/// The cosines of one question with the things of several shelves.
#[derive(Debug, Default)]
pub(super) struct Cosines {
    sum: f64,
    squares: f64,
    weight: f64,
    count: u32,
}

impl Cosines {
    /// Adds a shelf of so many things, known by a sample.
    pub(super) fn sampled(&mut self, moments: &Moments, vector: &[f32], things: u32) {
        let (mean, square) = moments.cosines_with(vector);
        self.add(mean, square, things);
        self.count = self.count.saturating_add(moments.count);
    }

    /// Adds a shelf all of whose vectors were compared.
    pub(super) fn add_compared_shelf(&mut self, mean: f64, deviation: f64, things: u32) {
        self.add(mean, deviation * deviation + mean * mean, things);
        self.count = self.count.saturating_add(things);
    }

    fn add(&mut self, mean: f64, square: f64, things: u32) {
        let things = f64::from(things);
        self.sum += things * mean;
        self.squares += things * square;
        self.weight += things;
    }

    pub(super) fn spread(&self) -> Spread {
        if self.weight <= 0.0 {
            return Spread::default();
        }
        let mean = self.sum / self.weight;
        let variance = (self.squares / self.weight - mean * mean).max(0.0);
        Spread {
            mean: mean as f32,
            deviation: variance.sqrt() as f32,
            count: self.count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_read_by_chance_where_most_of_them_are_the_shelfs() {
        let by_chance = SampleMethod::Pages(22.528);
        assert_eq!(
            SampleMethod::of(READ, 5_000, 12_000.0),
            [by_chance, SampleMethod::Key]
        );
        assert_eq!(
            SampleMethod::of(READ, 5_000, 40_000.0),
            [by_chance, SampleMethod::Key]
        );
        // One in a hundred, and a table that was never counted.
        for table_rows in [500_000.0, 0.0, -1.0] {
            assert_eq!(
                SampleMethod::of(READ, 5_000, table_rows),
                [SampleMethod::Key]
            );
        }
    }

    #[test]
    fn moments_say_of_any_vector_what_its_cosines_say() {
        let part = |seed: u32| {
            let mixed = seed.wrapping_mul(2_654_435_761) ^ seed.rotate_left(13);
            (mixed >> 8) as f32 / (1 << 24) as f32 - 0.4
        };
        let vector = |number: u32| -> Vec<f32> {
            let mut vector: Vec<f32> = (0..9).map(|at| part(number * 97 + at + 1)).collect();
            reprise_types::normalize(&mut vector);
            vector
        };
        let sample: Vec<Vec<f32>> = (0..50).map(vector).collect();
        let moments = Moments::of(&sample).expect("there are some");
        assert_eq!(moments.count, 50);
        for asked in (100..110).map(vector) {
            let cosine = |other: &Vec<f32>| -> f64 {
                let cosine: f32 = asked.iter().zip(other).map(|(a, b)| a * b).sum();
                f64::from(cosine)
            };
            let mean = sample.iter().map(cosine).sum::<f64>() / 50.0;
            let squares = sample.iter().map(|one| cosine(one).powi(2)).sum::<f64>() / 50.0;
            let told = moments.cosines_with(&asked);
            assert!((told.0 - mean).abs() < 1e-5, "{told:?} {mean}");
            assert!((told.1 - squares).abs() < 1e-5, "{told:?} {squares}");
        }
        assert!(Moments::of(&[]).is_none());
    }
}
